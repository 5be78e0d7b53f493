"""Running scenarios against an in-memory HTTP edge: verdicts, retries, early stop, P95."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from rollout.chat import Answer
from rollout.expectation import MAX_REPLY, mismatch, same_value
from rollout.http_edge import ChatFailed, HttpReply
from rollout.percentile import p95
from rollout.runner import Run, outcome, run
from rollout.scenario import Expect, Limits, Scenario, load
from rollout.sse import BadStream, events

COMPLAINT = """\
name: complaint.en
language: en
customer: s-en
runs: 20
turns:
  - query: "I want to complain"
    expect: {intent: complaint, ticket: created, reply_matches: ["T-[0-9]+"]}
  - query: "I want to complain"
    retry: true
    expect: {intent: complaint, ticket: same}
"""
Reply = Callable[[dict[str, Any]], "tuple[int, bytes]"]


def sse(*parts: tuple[str, dict[str, Any]]) -> bytes:
    return b"".join(f"event: {k}\ndata: {json.dumps(d)}\n\n".encode() for k, d in parts)


class Tickets:
    """A gateway in memory that opens one ticket a message id."""

    def __init__(self) -> None:
        self.ids: dict[str, str] = {}
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> tuple[int, bytes]:
        self.bodies.append(body)
        created = body["message_id"] not in self.ids
        ticket = self.ids.setdefault(body["message_id"], f"T-{len(self.ids)}")
        meta = {
            "intent": "complaint",
            "language": "en",
            "facts": [],
            "lane": "green",
            "ticket": {"id": ticket, "created": created},
        }
        return 200, sse(
            ("meta", meta),
            ("delta", {"text": f"Ticket {ticket}."}),
            ("done", {"status": "ok", "reason": None}),
        )


class Edge:
    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    @contextmanager
    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> Iterator[HttpReply]:
        assert url == "http://lane/v1/chat"
        assert headers["authorization"] == "Bearer secret"
        status, content = self.reply(json.loads(body))
        yield HttpReply(status, [content[i : i + 7] for i in range(0, len(content), 7)])


def ticking(step_s: float) -> Callable[[], float]:
    ticks = itertools.count()
    return lambda: next(ticks) * step_s


def hold(reply: Reply, text: str = COMPLAINT, limits: Limits | None = None) -> Any:
    return run(
        load(text),
        "http://lane/",
        "secret",
        limits=limits,
        concurrency=1,
        clock=ticking(0.001),
        http=Edge(reply),
    )


def test_a_retried_complaint_must_give_the_same_ticket() -> None:
    gateway = Tickets()
    result = hold(gateway)
    assert result.passed, result.why
    assert result.runs == 20
    assert result.success == 1
    assert len(gateway.ids) == 20
    assert len({body["session"] for body in gateway.bodies}) == 20


def test_a_second_ticket_for_the_retry_is_a_failure_and_stops_early() -> None:
    gateway = Tickets()

    def forgetful(body: dict[str, Any]) -> tuple[int, bytes]:
        gateway.ids.pop(body["message_id"], None)
        return gateway({**body, "message_id": str(len(gateway.bodies))})

    result = hold(forgetful)
    assert not result.passed
    assert result.runs == 2
    assert "turn 2: ticket is T-1, expected T-0 again" in result.failures[0]
    assert "95% needed" in result.why


def test_one_failure_in_twenty_is_allowed_and_two_are_not() -> None:
    def flaky(failures: int) -> Reply:
        gateway, calls = Tickets(), itertools.count()
        return lambda body: (500, b"no") if next(calls) < failures else gateway(body)

    assert hold(flaky(1)).passed
    result = hold(flaky(2))
    assert not result.passed
    assert result.failures[0] == "turn 1: HTTP 500: no"


def test_too_slow_is_a_failure_though_every_reply_is_right() -> None:
    result = hold(Tickets(), limits=Limits(first_ms=2, total_ms=100))
    assert not result.passed
    assert "P95 to the first content" in result.why
    assert "whole reply" not in result.why


@pytest.mark.parametrize(
    ("content", "wrong"),
    [
        (b"", "the stream ended without its done event"),
        (b"data: {}\n\n", "the stream ended without its done event"),
        (b"event: meta\ndata: nonsense\n\n", "the reply is not the API's"),
        (b"event: delta\ndata: {}\n\n", "the reply is not the API's"),
        (b"event: done\ndata: []\n\n", "the reply is not the API's"),
        (b"event: meta\ndata: " + b"[" * 100_000 + b"\n\n", "the reply is not the API's"),
        (b"data: \xff\n\n", "the reply is not the API's"),
    ],
)
def test_a_reply_that_is_not_the_api_is_a_failure_with_a_reason(content: bytes, wrong: str) -> None:
    result = hold(lambda body: (200, content))
    assert not result.passed
    assert wrong in result.failures[0]


def test_an_edge_that_cannot_connect_is_a_failure_not_a_crash() -> None:
    def refused(body: dict[str, Any]) -> tuple[int, bytes]:
        raise ChatFailed("connection refused")

    assert "connection refused" in hold(refused).failures[0]


def test_progress_is_told_after_each_run() -> None:
    told: list[tuple[int, int, int]] = []
    run(
        load(COMPLAINT),
        "http://lane",
        "secret",
        http=Edge(Tickets()),
        concurrency=3,
        clock=ticking(0.0),
        progress=lambda *args: told.append(args),
    )
    assert told[-1] == (20, 0, 20)


ANSWER = Answer(
    "insurance_balance",
    "en",
    "ok",
    "Your balance is 1,250.00 CNY.",
    5,
    9,
    facts={"balance": "1250.00"},
)


@pytest.mark.parametrize(
    ("expect", "wrong"),
    [
        (Expect("insurance_balance", facts=(("balance", "1250"),)), None),
        (Expect("insurance_balance", facts=(("balance", "1250.01"),)), "fact 'balance' is"),
        (Expect("insurance_balance", facts=(("limit", "1"),)), "fact 'limit' is missing"),
        (Expect("lab_report"), "intent is 'insurance_balance', expected 'lab_report'"),
        (Expect("insurance_balance", status="degraded"), "status is 'ok'"),
        (Expect("insurance_balance", ticket="created"), "no ticket was opened"),
    ],
)
def test_a_reply_is_compared_field_by_field(expect: Expect, wrong: str | None) -> None:
    got = mismatch(expect, ANSWER, "en", None)
    assert (got is None) if wrong is None else (got is not None and wrong in got)


def test_a_reply_that_is_too_long_to_be_searched_is_a_mismatch() -> None:
    long = replace(ANSWER, text="x" * (MAX_REPLY + 1))
    wrong = mismatch(Expect("insurance_balance"), long, "en", None)
    assert wrong == f"the reply has {MAX_REPLY + 1} characters, more than {MAX_REPLY}"


def test_the_wrong_language_is_a_mismatch() -> None:
    assert mismatch(Expect("insurance_balance"), ANSWER, "zh", None) is not None


def test_values_are_equal_as_text_or_as_decimals() -> None:
    assert same_value("12340", "12,340.00")
    assert same_value("negative", "negative")
    assert not same_value("12340", "12340.001")
    assert not same_value("1", "one")


def test_p95_is_the_nearest_rank() -> None:
    assert p95(range(1, 21)) == 19
    assert p95(range(1, 101)) == 95
    assert p95([7]) == 7
    assert p95([]) == 0


def test_an_unfinished_set_of_runs_never_passes() -> None:
    scenario: Scenario = load(COMPLAINT)
    result = outcome(scenario, scenario.limits, [Run((ANSWER,), None)] * 3)
    assert not result.passed
    assert result.why == "3 of 20 runs done"


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_events_survive_any_cut(size: int) -> None:
    stream = (
        ': hi\r\nevent: delta\r\ndata: {"text":\ndata:  "余额"}\n\n\ndata:x\n\ndata: cut'.encode()
    )
    chunks = [stream[i : i + size] for i in range(0, len(stream), size)]
    got = [(e.kind, e.data) for e in events(chunks)]
    assert got == [("delta", '{"text":\n "余额"}'), ("message", "x")]


def test_an_endless_line_is_refused() -> None:
    with pytest.raises(BadStream):
        list(events(itertools.repeat(b"x" * 65536)))
