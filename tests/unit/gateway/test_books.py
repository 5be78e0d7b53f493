"""What is written down about an answer: its tokens' cost, its stages, its line in the ring."""

import io
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from apps.gateway.meter import Books, Meter
from apps.gateway.pipeline import PipelineFailed, Word, _share
from apps.gateway.record import Journal, Record
from apps.gateway.samples import Samples
from apps.gateway.stages import Stages
from apps.gateway.stops import COMPLAINT, GONE, Running
from apps.gateway.tensors import BadTensor
from observability.ring import Requests
from observability.tokens import Account
from tests.unit.gateway.test_conversation import ASKED, ROUTED, Pipeline, answer


def asked_anew() -> Any:
    return replace(ASKED, books=Books(Account("r1", 0)))


def test_a_token_costs_the_time_since_the_one_before_by_the_requests_share() -> None:
    now = [1_000]
    account = Account("r1", 0)
    books = Books(account)
    meter = Meter(books, lambda: now[0])
    now[0] = 5_000
    meter.heard(Word("a", "", 7, at_ns=900_000, share=1.0))
    meter.heard(Word("b", "", 8, at_ns=902_000, share=0.25, prompt=32, found=8))
    meter.heard(Word("", "stop"))
    summary = account.summary()
    assert summary["generated"] == 2
    assert (books.prompt, books.cache_hit) == (32, 0.25)
    assert Books(account).cache_hit is None
    assert summary["seconds"] == pytest.approx((4_000 + 500) / 1e9, abs=1e-6)


def test_a_step_that_served_others_is_shared_by_tokens() -> None:
    table = json.dumps([["r1", 1, "decode"], ["r2", 2, "decode"], ["r3", 29, "prefill"]])
    assert _share(table, "r1") == 1 / 32
    assert _share(table, "r9") == 1.0
    assert _share("[]", "r1") == 1.0


@pytest.mark.parametrize("table", ["", "{}x", "[1]", '[["r1", "many", "decode"]]', "[" * 9999])
def test_a_table_that_is_none_is_refused(table: str) -> None:
    with pytest.raises(BadTensor, match="'table' is not a table"):
        _share(table, "r1")


def test_every_token_that_came_is_entered_and_a_complaint_is_the_reason() -> None:
    pipeline, running, asked = Pipeline(ROUTED, ["a", "b", "c"]), Running(), asked_anew()
    pipeline.tokens = True
    pipeline.at = lambda number: running.end(COMPLAINT) if number == 2 else None
    answer(pipeline, running, asked)
    assert asked.books.account.summary()["generated"] == 2
    assert asked.books.account.summary()["reason"] == "complaint"


@pytest.mark.parametrize(("late", "reason"), [(True, "deadline"), (False, "failed")])
def test_an_answer_that_breaks_off_says_why_its_tokens_are_lost(late: bool, reason: str) -> None:
    def breaks(number: int) -> None:
        if number == 1:
            raise PipelineFailed("known", late=late)

    pipeline, asked = Pipeline(ROUTED, ["a", "b"]), asked_anew()
    pipeline.tokens, pipeline.at = True, breaks
    answer(pipeline, None, asked)
    assert asked.books.account.summary()["reason"] == reason


def test_a_client_that_left_is_the_middlewares_to_notice() -> None:
    pipeline, running, asked = Pipeline(ROUTED, ["a", "b"]), Running(), asked_anew()
    pipeline.tokens = True
    pipeline.at = lambda number: running.end(GONE) if number else None
    answer(pipeline, running, asked)
    assert asked.books.account.summary()["generated"] == 1


def test_stages_follow_each_other() -> None:
    now = iter([100, 130, 131, 200])
    stages = Stages(lambda: next(now))
    for name in ("identify", "read", "route"):
        stages.ended(name)
    assert list(stages.ns.items()) == [("identify", 30), ("read", 1), ("route", 69)]


class Lines:
    """A ring that keeps its lines."""

    def __init__(self) -> None:
        self.kept: list[Mapping[str, Any]] = []

    def append(self, fields: Mapping[str, Any]) -> bool:
        self.kept.append(fields)
        return True


def test_a_chat_request_leaves_a_line_in_the_ring_and_others_do_not() -> None:
    lines = Lines()
    journal = Journal("blue", Samples(b"k" * 32), io.StringIO(), Requests(lines, "17"))
    record = Record("r1", "POST", "/v1/chat", 0.0, http=200, status="ok", intent="lab_report")
    record.stages.ended("route")
    record.books.account.generated(7, 1, 1)
    journal.ended(record, chat=True)
    journal.ended(Record("r2", "GET", "/", 0.0, http=200), chat=False)
    (line,) = lines.kept
    wanted = {"request_id": "r1", "intent": "lab_report", "status": "ok", "lane": "blue"}
    assert wanted.items() <= line.items()
    assert line["release"] == "17"
    assert (line["tokens"]["generated"], line["tokens"]["discarded"]) == (1, 1)
    assert list(line["stages_ns"]) == ["route"]
    assert len(line["boot"]) == 36
    assert line["t_ns"] > 0
