"""What the accounting says about replies of every form, and about clients that leave."""

import asyncio
import gzip
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from observability.native import DELIVERED, DISCARDED, HANDED, RECEIVED
from observability.tokens import Account, Reason, TokenAccounting
from observability.tokens.account import UNKNOWN

SSE = [(b"content-type", b"text/event-stream; charset=utf-8")]
REQUEST = {"type": "http.request", "body": b"{}", "more_body": False}
GONE = {"type": "http.disconnect"}


class Served:
    """One request through the accounting; the client reads its first `stays` messages."""

    def __init__(
        self, app: ASGIApp, *, stays: int = 1000, around: Any = None, reports: bool = False
    ) -> None:
        self.app = app
        self.stays = stays
        self.sent: list[Message] = []
        self.fired: list[tuple[int, int, int]] = []
        self.account: Account | None = None
        self.readers = 0
        self._left = asyncio.Event()
        self._asked = False
        self._around = around or (lambda app: app)
        self._now = 0
        self._how: dict[str, Any] = {"fire": self.fire, "reports": reports}

    def run(self) -> dict[str, Any]:
        def done(scope: Scope, account: Account) -> None:
            self.account = account

        app = TokenAccounting(
            self._around(self.app),
            name=lambda scope: "r",
            done=done,
            clock_ns=self.clock,
            **self._how,
        )
        scope: Scope = {"type": "http", "headers": [(b"accept-encoding", b"gzip")]}
        asyncio.run(app(scope, self.receive, self.send))  # type: ignore[arg-type]
        assert self.account
        return self.account.summary()

    def fire(self, request: bytes, token: int, event: int, outcome: int) -> None:
        assert request == b"r"
        self.fired.append((token, event, outcome))

    def clock(self) -> int:
        self._now += 1_000_000
        return self._now

    async def receive(self) -> Message:
        assert not self.readers, "two readers race for the client's messages"
        self.readers += 1
        try:
            if not self._asked:
                self._asked = True
                return dict(REQUEST)
            await self._left.wait()
            return dict(GONE)
        finally:
            self.readers -= 1

    async def send(self, message: Message) -> None:
        self.sent.append(message)
        if len(self.sent) > self.stays:
            self._left.set()
            await asyncio.sleep(0)
            await asyncio.sleep(0)


async def begin(send: Send, headers: list[tuple[bytes, bytes]] = SSE) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": headers})


async def body(send: Send, data: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": more})


async def read_request(receive: Receive) -> None:
    while (await receive()).get("more_body"):
        pass


def delta(text: str) -> bytes:
    return f"data: {json.dumps({'text': text})}\n\n".encode()


def chat(text: str, **more: Any) -> bytes:
    event = {"choices": [{"delta": {"content": text}}], **more}
    return f"data: {json.dumps(event)}\n\n".encode()


def usage(tokens: Any) -> bytes:
    return (
        f"data: {json.dumps({'choices': [], 'usage': {'completion_tokens': tokens}})}\n\n".encode()
    )


def streaming(*chunks: bytes, headers: list[tuple[bytes, bytes]] = SSE) -> ASGIApp:
    """An application that sends these chunks."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await read_request(receive)
        await begin(send, headers)
        for chunk in chunks:
            await body(send, chunk)
        await body(send, b"", more=False)

    return app


def counts(summary: dict[str, Any]) -> tuple[int, int, int, int]:
    return tuple(summary[k] for k in ("generated", "handed", "delivered", "discarded"))  # type: ignore[return-value]


def test_a_whole_reply_discards_nothing() -> None:
    summary = Served(streaming(*[delta("x")] * 7)).run()
    assert counts(summary) == (7, 7, 7, 0)
    assert summary["estimated"]
    assert (summary["share"], summary["reason"], summary["seconds"]) == (0.0, None, 0.0)


REPLY = chat("你") + chat("") + chat("好") + b": ping\n\n" + chat("!") + b"data: [DONE]\n\n"


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_split_at_every_byte_counts_the_same(end: bytes) -> None:
    reply = REPLY.replace(b"\n", end)
    for at in range(len(reply) + 1):
        assert counts(Served(streaming(reply[:at], reply[at:])).run()) == (3, 3, 3, 0), at


def test_a_compressed_reply_counts_the_same() -> None:
    encoded = [*SSE, (b"content-encoding", b"gzip")]
    data = gzip.compress(REPLY)
    for at in range(len(data) + 1):
        summary = Served(streaming(data[:at], data[at:], headers=encoded)).run()
        assert counts(summary) == (3, 3, 3, 0), at


def test_what_a_compressor_holds_back_is_handed_when_it_comes_out() -> None:
    app = streaming(*[delta("x" * 40)] * 23, headers=[(b"content-type", b"application/x-other")])
    served = Served(app, around=GZipMiddleware)
    assert counts(served.run()) == (0, 0, 0, 0)  # not a kind that we count
    replies = [chat("x" * 40)] * 23
    assert counts(Served(streaming(*replies), around=GZipMiddleware).run()) == (23, 23, 23, 0)


def test_broken_or_unknown_encodings_count_nothing_and_change_nothing() -> None:
    for encoding in (b"gzip", b"br"):
        served = Served(streaming(b"abc", headers=[*SSE, (b"content-encoding", encoding)]))
        assert counts(served.run()) == (0, 0, 0, 0)
        assert [message.get("body") for message in served.sent[1:]] == [b"abc", b""]


@pytest.mark.parametrize(
    ("chunks", "generated"),
    [
        ([chat("a"), chat("b"), usage(5)], 5),  # late
        ([usage(0), chat("a"), chat("b"), usage(2)], 2),  # early, without meaning the end
        ([usage(4), chat("a"), chat("b")], 4),  # early and final
        ([chat("a", usage={"completion_tokens": 1}), chat("b", usage={"completion_tokens": 3})], 3),
        ([chat("a"), chat("b"), chat("c"), usage(2)], 2),  # pieces smaller than tokens
        ([chat("a"), b"data: [DONE]\n\n", usage(6)], 6),  # after the end
        ([chat("a", usage=None), usage(True), usage(-1), usage("7")], 1),  # no usage at all
    ],
)
def test_usage_is_believed_wherever_it_comes(chunks: list[bytes], generated: int) -> None:
    summary = Served(streaming(*chunks)).run()
    assert counts(summary) == (generated, generated, generated, 0)


def test_a_claim_beyond_belief_costs_no_memory() -> None:
    summary = Served(streaming(chat("a"), usage(10**30))).run()
    assert summary["generated"] == 1 << 16


def test_one_json_body_says_its_usage() -> None:
    data = json.dumps({"choices": [], "usage": {"completion_tokens": 11}}).encode()
    headers = [(b"content-type", b"application/json")]
    for at in range(len(data)):
        summary = Served(streaming(data[:at], data[at:], headers=headers)).run()
        assert counts(summary) == (11, 11, 11, 0)


async def deaf(scope: Scope, receive: Receive, send: Send) -> None:
    """It never asks whether the client is there."""
    await read_request(receive)
    await begin(send)
    for _ in range(60):
        await body(send, delta("x"))
    await body(send, b"", more=False)


async def deaf_to_everything(scope: Scope, receive: Receive, send: Send) -> None:
    await begin(send)
    for _ in range(60):
        await body(send, delta("x"))
    await body(send, b"", more=False)


async def listening(scope: Scope, receive: Receive, send: Send) -> None:
    """It reads from the client while it sends, and ends when the client leaves."""
    await read_request(receive)

    async def listen() -> None:
        assert (await receive())["type"] == "http.disconnect"

    listener = asyncio.create_task(listen())
    await asyncio.sleep(0)
    await begin(send)
    while not listener.done():
        await body(send, delta("x"))
    await listener


def test_a_client_that_leaves_is_noticed_by_an_application_that_never_looks() -> None:
    # The start and 4 tokens were taken; during the 5th the client left.
    summary = Served(deaf, stays=5).run()
    assert counts(summary) == (60, 60, 4, 56)
    assert (summary["reason"], summary["share"]) == ("client_left", round(56 / 60, 4))


def test_an_application_that_looks_is_the_one_who_reads() -> None:
    summary = Served(listening, stays=5).run()
    assert counts(summary) == (5, 5, 4, 1)
    assert summary["reason"] == "client_left"


def test_a_client_that_leaves_after_the_reply_has_missed_nothing() -> None:
    async def waits(scope: Scope, receive: Receive, send: Send) -> None:
        await deaf(scope, receive, send)
        assert (await receive())["type"] == "http.disconnect"

    served = Served(waits, stays=61)
    summary = served.run()
    assert counts(summary) == (60, 60, 60, 0)
    assert summary["reason"] is None


def reporting(costs: list[int], *, sent: int, reason: Reason | None) -> ASGIApp:
    """An application that makes len(costs) tokens and sends `sent` of them."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await read_request(receive)
        await begin(send)
        for at, cost in enumerate(costs):
            scope["tokens"].generated(100 + at, at, cost)
            if at < sent:
                await body(send, delta("two words"))
        if reason:
            scope["tokens"].throw_away(reason)

    return app


@pytest.mark.parametrize("reason", [Reason.COMPLAINT, Reason.STOP_STRING, Reason.DEADLINE])
def test_thrown_away_tokens_have_a_reason_and_a_price(reason: Reason) -> None:
    app = reporting([10**9, 10**9, 3 * 10**9, 10**9], sent=2, reason=reason)
    served = Served(app, reports=True)
    summary = served.run()
    assert counts(summary) == (4, 2, 2, 2)
    assert (summary["reason"], summary["seconds"]) == (reason.name.lower(), 4.0)
    assert summary["joules"] is None
    assert served.account
    assert served.account.summary(watts=2.5)["joules"] == 10.0
    assert not summary["estimated"]
    assert served.fired == [
        (100, RECEIVED, 0),
        (100, HANDED, 0),
        (100, DELIVERED, 0),
        (101, RECEIVED, 0),
        (101, HANDED, 0),
        (101, DELIVERED, 0),
        (102, RECEIVED, 0),
        (103, RECEIVED, 0),
        (102, DISCARDED, reason),
        (103, DISCARDED, reason),
    ]


def test_the_text_of_an_application_that_reports_is_no_token() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await begin(send)
        await body(send, delta("the facts come first") + usage(99))
        scope["tokens"].generated(7, 1, 1)
        await body(send, delta("word"), more=False)

    served = Served(app, reports=True)
    assert counts(served.run()) == (1, 1, 1, 0)
    assert {token for token, _, _ in served.fired} == {7}


def test_tokens_known_by_their_text_have_no_id() -> None:
    served = Served(streaming(delta("x")))
    served.run()
    assert served.fired == [(UNKNOWN, event, 0) for event in (RECEIVED, HANDED, DELIVERED)]


def test_the_first_reason_counts() -> None:
    account = Account("r", 0)
    account.generated(1, 1, 1)
    account.throw_away(Reason.COMPLAINT)
    account.throw_away(Reason.CLIENT_LEFT)
    assert account.summary()["reason"] == "complaint"


def test_an_application_that_fails_has_thrown_its_tokens_away() -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        await begin(send)
        scope["tokens"].generated(1, 1, 1)
        raise ValueError("known")

    served = Served(fails, reports=True)
    with pytest.raises(ValueError, match="known"):
        served.run()
    assert served.account
    assert served.account.summary()["reason"] == "failed"


def test_nothing_but_http_is_touched() -> None:
    seen: list[Any] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append((scope, receive, send))

    def unreachable(*_: Any) -> Any:
        raise AssertionError

    call: Callable[..., Awaitable[None]] = TokenAccounting(app, name=unreachable, done=unreachable)
    asyncio.run(call({"type": "lifespan"}, 1, 2))  # type: ignore[arg-type]
    assert seen == [({"type": "lifespan"}, 1, 2)]
