"""What can be wrong with a file: one line each, for the load report."""


class Unreadable(Exception):
    """The file gives no document. `kind` is one word for counting: `encrypted`, `empty`,
    `not a PDF`, `damaged`, `too large`, `too many pages`, `too slow`, `too much memory`,
    `crashed`, `no text`."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(f"{kind}: {why}")
        self.kind = kind
        self.why = why

    def __reduce__(self) -> tuple[type["Unreadable"], tuple[str, str]]:
        return Unreadable, (self.kind, self.why)
