"""One question answered, with the pipeline replaced: order of events, stops, what is left out."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from typing import Any

from apps.gateway import pressure
from apps.gateway.conversation import Asked, Conversation, cannot_answer
from apps.gateway.events import Delta, Done, Event, Meta
from apps.gateway.meter import Books
from apps.gateway.pipeline import NO_TOKEN, Ended, PipelineFailed, Word
from apps.gateway.question import Question
from apps.gateway.routed import Routed
from apps.gateway.stops import COMPLAINT, GONE, Running, Stops
from observability.tokens import Account

ROUTED = Routed(
    intent="insurance_balance",
    language="en",
    status="ok",
    reason=None,
    text="Your balance is 8250.00 CNY.",
    facts=[{"name": "balance", "value": "8250.00"}],
    citations=[
        {"page": 4, "quote": "The limit is 20,000.00 CNY.", "boxes": [{"page": 4, "x0": 77.0}]}
    ],
    prompt="Explain the balance.",
    omitted=[],
    ticket=None,
)
QUESTION = Question("My balance in 2026?", "s1", "m1", True)
ASKED = Asked(QUESTION, "signed", "en", "r1", 0.0, Books(Account("r1", 0)))


class Pipeline:
    """Answers as told; `at` is called before each word with its number."""

    def __init__(self, routed: Routed | Exception, words: list[str] | None = None) -> None:
        self.routed = routed
        self.pieces = words or []
        self.tokens = False
        self.at: Callable[[int], None] = lambda number: None
        self.closed = 0
        self.asked_words = 0

    async def route(self, query: str, *args: str, running: Running, **_: Any) -> Routed:
        if isinstance(self.routed, Exception):
            raise self.routed
        return self.routed

    async def words(
        self, prompt: str, *_: str, running: Running, **__: Any
    ) -> AsyncGenerator[Word, None]:
        self.asked_words += 1
        try:
            for number, piece in enumerate(self.pieces):
                self.at(number)
                if running.ended:
                    raise Ended(running.ended)
                yield Word(piece, "", number if self.tokens else NO_TOKEN)
            yield Word("", "stop")
        finally:
            self.closed += 1


def conversation(
    pipeline: Pipeline,
    stops: Stops | None = None,
    streams: int = 4,
    pressed: Callable[[], bool] = lambda: False,
) -> Conversation:
    return Conversation(
        pipeline,
        stops or Stops(),
        max_tokens=9,
        streams=streams,
        deadline_s=20,
        pressed=pressed,
        clock=lambda: 0.0,
    )


def answer(
    pipeline: Pipeline, running: Running | None = None, asked: Asked = ASKED, **more: Any
) -> list[Event]:
    async def collect() -> list[Event]:
        events = conversation(pipeline, **more).answer(asked, running or Running())
        return [event async for event in events]

    return asyncio.run(collect())


def test_facts_come_first_then_the_words_then_the_end() -> None:
    events = answer(Pipeline(ROUTED, [" It", " is", " yours", "."]))
    assert isinstance(events[0], Meta)
    assert [e.text for e in events if isinstance(e, Delta)] == [
        "Your balance is 8250.00 CNY.",
        "\n\nIt",
        " is",
        " yours",
        ".",
    ]
    assert events[-1] == Done("ok")


def test_passages_go_with_the_facts_and_their_numbers_are_supported() -> None:
    events = answer(Pipeline(ROUTED, ["At most 20000, see page 4, or 77."]))
    assert isinstance(events[0], Meta)
    assert events[0].citations == ROUTED.citations
    assert isinstance(events[-1], Done)
    assert events[-1].unsupported == ["77"]


def test_empty_pieces_send_nothing() -> None:
    events = answer(Pipeline(ROUTED, ["", " ", "Yes", ""]))
    assert [e.text for e in events if isinstance(e, Delta)][1:] == ["\n\nYes"]


def test_numbers_that_nothing_supports_are_marked() -> None:
    done = answer(Pipeline(ROUTED, ["In 2026 you have 8,250, or 9,999."]))[-1]
    assert isinstance(done, Done)
    assert done.unsupported == ["9,999"]


def test_without_a_prompt_the_model_is_not_asked() -> None:
    pipeline = Pipeline(replace(ROUTED, prompt=None, omitted=[{"what": "w", "why": "zh"}]))
    events = answer(pipeline)
    assert pipeline.asked_words == 0
    assert events[-1] == Done("ok", None, [{"what": "w", "why": "zh"}])


def test_a_complaint_elsewhere_stops_the_words_at_once() -> None:
    stops, running = Stops(), Running()
    pipeline = Pipeline(ROUTED, ["a", "b", "c"])
    pipeline.at = lambda number: running.end(COMPLAINT) if number == 1 else None
    events = answer(pipeline, running, stops=stops)
    assert [e.text for e in events if isinstance(e, Delta)][1:] == ["\n\na"]
    done = events[-1]
    assert isinstance(done, Done)
    assert (done.status, done.reason) == ("stopped", COMPLAINT)
    assert pipeline.closed == 1


def test_a_complaint_before_the_first_word_leaves_the_model_unasked() -> None:
    running = Running()
    running.end(COMPLAINT)
    pipeline = Pipeline(ROUTED, ["a"])
    events = answer(pipeline, running)
    assert pipeline.closed == 0
    assert isinstance(events[-1], Done)
    assert events[-1].status == "stopped"


def test_a_complaint_stops_the_others_of_its_session_and_ends_well_itself() -> None:
    stops = Stops()
    ticket = {"id": "T-1", "created": True}
    complaint = replace(ROUTED, intent="complaint", prompt=None, ticket=ticket, facts=[])
    with stops.running("s1") as other, stops.running("s1") as itself:
        events = answer(Pipeline(complaint), itself, stops=stops)
        assert other.ended == COMPLAINT
        assert itself.ended is None
    assert events[-1] == Done("ok")


def test_a_complaint_sent_again_stops_nothing() -> None:
    stops = Stops()
    again = replace(ROUTED, prompt=None, ticket={"id": "T-1", "created": False})
    with stops.running("s1") as newer, stops.running("s1") as itself:
        answer(Pipeline(again), itself, stops=stops)
        assert newer.ended is None


def test_a_complaint_that_hears_its_own_notice_is_still_answered() -> None:
    running = Running()
    running.end(COMPLAINT)
    complaint = replace(ROUTED, prompt=None, ticket={"id": "T-1", "created": True})
    assert answer(Pipeline(complaint), running)[-1] == Done("ok")


def test_a_client_that_left_gets_nothing_more() -> None:
    running = Running()
    pipeline = Pipeline(ROUTED, ["a", "b"])
    pipeline.at = lambda number: running.end(GONE) if number == 1 else None
    events = answer(pipeline, running)
    assert not any(isinstance(event, Done) for event in events)
    assert pipeline.closed == 1
    assert answer(Pipeline(Ended(GONE))) == []


def test_a_pipeline_that_is_gone_gives_a_degraded_answer_in_the_querys_language() -> None:
    for query, language, word in (("我的余额", "zh", "很抱歉"), ("my balance", "en", "Sorry")):
        asked = replace(ASKED, question=Question(query, "s1", "m1"))
        meta, delta, done = answer(Pipeline(PipelineFailed("gone")), asked=asked)
        assert isinstance(meta, Meta)
        assert meta.language == language
        assert isinstance(delta, Delta)
        assert word in delta.text
        assert isinstance(done, Done)
        assert (done.status, done.reason) == ("degraded", "gone")


def test_words_that_fail_leave_the_facts_and_say_so() -> None:
    pipeline = Pipeline(ROUTED, ["a", "b"])

    def fail(number: int) -> None:
        if number == 1:
            raise PipelineFailed("lost")

    pipeline.at = fail
    events = answer(pipeline)
    assert isinstance(events[1], Delta)
    assert "8250.00" in events[1].text
    assert events[-1] == Done("degraded", "lost", [{"what": "model_words", "why": "lost"}])


def test_more_answers_than_streams_get_the_facts_alone_and_are_told() -> None:
    pipeline = Pipeline(ROUTED, ["a"])

    async def both() -> tuple[list[Event], list[Event]]:
        talk = conversation(pipeline, streams=1)
        first = talk.answer(ASKED, Running())
        started = [await anext(first) for _ in range(3)]
        second = [event async for event in talk.answer(ASKED, Running())]
        started += [event async for event in first]
        again = [event async for event in talk.answer(ASKED, Running())]
        assert again[-1] == Done("ok")
        return started, second

    first, second = asyncio.run(both())
    assert first[-1] == Done("ok")
    done = second[-1]
    assert isinstance(done, Done)
    assert done.status == "ok"
    assert done.omitted[0]["what"] == "model_words"
    assert pipeline.asked_words == 2


def test_an_answer_that_is_closed_early_closes_the_words_and_frees_its_place() -> None:
    pipeline = Pipeline(ROUTED, ["a", "b", "c"])

    async def leave() -> None:
        talk = conversation(pipeline, streams=1)
        for _ in range(3):
            events = talk.answer(ASKED, Running())
            for _ in range(3):
                await anext(events)
            await events.aclose()

    asyncio.run(leave())
    assert (pipeline.asked_words, pipeline.closed) == (3, 3)


def test_a_customers_usual_language_decides_when_the_query_has_no_script() -> None:
    meta = cannot_answer("??", "zh", "down")[0]
    assert isinstance(meta, Meta)
    assert meta.language == "zh"


def test_while_the_gpu_is_pressed_new_answers_have_the_facts_alone_and_say_why() -> None:
    pipeline, short = Pipeline(ROUTED, ["a", "b"]), [False]

    async def meanwhile() -> tuple[list[Event], list[Event]]:
        talk = conversation(pipeline, pressed=lambda: short[0])
        running = talk.answer(ASKED, Running())
        begun = [await anext(running) for _ in range(3)]
        short[0] = True
        new = [event async for event in talk.answer(ASKED, Running())]
        begun += [event async for event in running]
        return begun, new

    begun, new = asyncio.run(meanwhile())
    assert begun[-1] == Done("ok")
    omitted = [{"what": "model_words", "why": pressure.WHY}]
    assert isinstance(new[0], Meta)
    assert new[0].omitted == omitted
    assert new[1:] == [Delta(ROUTED.text or ""), Done("degraded", pressure.WHY, omitted)]
    assert pipeline.asked_words == 1


def test_an_answer_that_needs_no_words_is_not_degraded_by_the_gpu() -> None:
    complaint = replace(ROUTED, prompt=None)
    assert answer(Pipeline(complaint), pressed=lambda: True)[-1] == Done("ok")


def test_two_answers_that_begin_at_once_do_not_take_one_place() -> None:
    pipeline = Pipeline(ROUTED, ["a"])

    async def both() -> list[Event]:
        talk = conversation(pipeline, streams=1)
        one, two = (talk.answer(ASKED, Running()) for _ in range(2))
        begun = [await anext(one), await anext(two)]
        return begun + [event async for event in one] + [event async for event in two]

    metas = [event for event in asyncio.run(both()) if isinstance(event, Meta)]
    assert [len(meta.omitted) for meta in metas] == [0, 1]
    assert pipeline.asked_words == 1
