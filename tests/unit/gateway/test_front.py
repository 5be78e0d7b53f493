"""What holds for every request, whatever its application does: one reply, one line, one sample."""

import asyncio
import io
import json
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from apps.gateway.front import CHAT, Front
from apps.gateway.health import Health
from apps.gateway.record import Journal
from apps.gateway.refusal import ClientGone, Refusal
from apps.gateway.samples import Samples


class Served:
    """One request through a Front whose chat application is `app`."""

    def __init__(self, app: Any, *, method: str = "POST", path: str = CHAT, most: int = 9) -> None:
        self.sent: list[Message] = []
        self.out = io.StringIO()
        self.samples = Samples(b"k" * 32)
        self.health = Health()
        routes = {CHAT: ("POST", app)}
        journal = Journal("blue", self.samples, self.out)
        self.front = Front(routes, self.health, journal, lane="blue", max_in_flight=most)
        self.scope: Scope = {"type": "http", "method": method, "path": path, "headers": []}

    def run(self) -> "Served":
        async def receive() -> Message:
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            self.sent.append(message)

        asyncio.run(self.front(self.scope, receive, send))
        return self

    @property
    def http(self) -> int:
        return int(self.sent[0]["status"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.sent[0]["headers"])

    @property
    def line(self) -> dict[str, Any]:
        lines = self.out.getvalue().splitlines()
        assert len(lines) == 1
        line: dict[str, Any] = json.loads(lines[0])
        return line

    @property
    def sample(self) -> dict[str, Any]:
        (one,) = self.samples.page(0, 9)["samples"]
        return dict(one)


def raising(error: BaseException) -> Any:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise error

    return app


async def fine(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"fine"})


def test_a_reply_carries_its_lane_and_its_request_id() -> None:
    served = Served(fine).run()
    assert served.headers[b"x-switchyard-lane"] == b"blue"
    assert served.headers[b"x-request-id"].decode() == served.line["request_id"]
    assert b"connection" not in served.headers


def test_a_reply_closes_its_connection_while_draining() -> None:
    served = Served(fine)
    served.health.drain()
    assert served.run().headers[b"connection"] == b"close"


def test_a_refusal_is_json_with_its_headers_and_a_sample() -> None:
    served = Served(raising(Refusal(413, "too long", "send less", connection="close"))).run()
    assert served.http == 413
    assert json.loads(served.sent[1]["body"]) == {"error": "too long", "do": "send less"}
    assert served.headers[b"connection"] == b"close"
    assert (served.sample["http"], served.sample["status"]) == (413, "refused")


@pytest.mark.filterwarnings("ignore")
def test_our_own_mistake_is_a_500_that_tells_nothing_private() -> None:
    served = Served(raising(KeyError("secret"))).run()
    assert served.http == 500
    assert b"secret" not in served.sent[1]["body"]
    assert (served.sample["http"], served.sample["status"]) == (500, "error")
    assert "secret" not in served.out.getvalue()


def test_a_client_that_left_is_noted_and_gets_nothing() -> None:
    served = Served(raising(ClientGone())).run()
    assert served.sent == []
    assert (served.sample["http"], served.sample["status"]) == (499, "gone")


def test_a_request_cut_at_shutdown_is_noted() -> None:
    served = Served(raising(asyncio.CancelledError()))
    with pytest.raises(asyncio.CancelledError):
        served.run()
    assert served.sample["status"] == "cut"
    assert served.front.in_flight == 0


def test_more_in_flight_than_the_bound_is_busy() -> None:
    served = Served(fine, most=0).run()
    assert served.http == 503
    assert served.headers[b"retry-after"] == b"1"
    assert served.sample["status"] == "busy"


def test_unknown_paths_and_methods_are_logged_without_their_names() -> None:
    served = Served(fine, path="/secret-in-a-path", method="BREW").run()
    assert served.http == 404
    assert (served.line["path"], served.line["method"]) == ("other", "other")
    assert served.samples.page(0, 9)["samples"] == []
