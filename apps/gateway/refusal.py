"""What a client gets that asked wrongly: one line what is wrong, one what to do."""

import json


class Refusal(Exception):
    """A request that is answered with a 4xx or 503 and nothing else."""

    def __init__(self, http: int, error: str, do: str, **headers: str) -> None:
        super().__init__(error)
        self.http = http
        self.error = error
        self.do = do
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    def body(self) -> bytes:
        """`{"error": …, "do": …}` as UTF-8."""
        return json.dumps({"error": self.error, "do": self.do}, ensure_ascii=False).encode()


class ClientGone(Exception):
    """The client closed its connection before its request was complete."""
