"""One thread computes for everybody; a stop, a deadline or an error ends one, never the others."""

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from apps.engine.engine import Engine
from apps.engine.errors import BadRequest, Busy, EngineError, Forked, PromptTooLong
from apps.engine.generator import Generator
from apps.engine.model import Model
from apps.engine.quant import F32
from apps.engine.sampler import Sampler
from apps.engine.scheduler import Scheduler
from apps.engine.sequence import Served
from apps.engine.stream import Stream
from observability.probes.request import REQUEST_ID, SHARED
from tests.unit.engine.fake_core import FakeCore, logits_after

PROMPT = list(range(3, 40))


@dataclass
class Ear:
    """A reader that remembers."""

    tokens: list[int] = field(default_factory=list)
    tables: list[list[Served]] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    finish: str = ""
    error: Exception | None = None
    room: int = 1000
    over: threading.Event = field(default_factory=threading.Event)
    heard: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    @property
    def full(self) -> bool:
        return len(self.tokens) >= self.room

    def begun(self, found: int) -> None: ...

    def token(self, token: int, finish: str, step: int, table: list[Served]) -> str:
        self.tokens.append(token)
        self.steps.append(step)
        self.tables.append(table)
        self.heard.release()
        if finish:
            self.end(finish)
        return finish

    def end(self, finish: str) -> None:
        self.finish = finish
        self.over.set()

    def fail(self, error: Exception) -> None:
        self.error = error
        self.over.set()


class Scripted(Sampler):
    """Gives the next token of a list, and keeps the logits that it saw."""

    def __init__(self, *tokens: int) -> None:
        super().__init__()
        self._tokens = iter(tokens)
        self.seen: list[F32] = []

    def choose(self, logits: F32, left: int) -> int:
        self.seen.append(logits.copy())
        return next(self._tokens)


@pytest.fixture
def core() -> FakeCore:
    return FakeCore()


@pytest.fixture
def engine(tiny: Model, core: FakeCore) -> Iterator[Engine]:
    with Engine(tiny, core, waiting=3) as running:  # type: ignore[arg-type]
        yield running


def ask(
    engine: Engine,
    prompt: list[int] = PROMPT,
    limit: int = 5,
    *made: int,
    room: int = 1000,
    **more: Any,
) -> tuple[Ear, Scripted]:
    ear, sampler = Ear(room=room), Scripted(*(made or range(10, 10 + limit)))
    engine.submit(prompt, limit, ear, sampler, **{"deadline_s": 60, **more})
    return ear, sampler


def finished(ear: Ear) -> Ear:
    assert ear.over.wait(20)
    return ear


def test_a_sequence_ends_with_length_after_its_tokens(engine: Engine) -> None:
    ear = finished(ask(engine, PROMPT, 5)[0])
    assert (ear.tokens, ear.finish) == ([10, 11, 12, 13, 14], "length")


@pytest.mark.parametrize("control", [0, 1, 2])
def test_any_control_token_ends_the_turn(engine: Engine, control: int) -> None:
    ear = finished(ask(engine, PROMPT, 5, 10, control, 11)[0])
    assert (ear.tokens, ear.finish) == ([10, control], "stop")


def test_every_token_is_chosen_from_the_logits_after_all_before_it(engine: Engine) -> None:
    ear, sampler = ask(engine, PROMPT, 5)
    finished(ear)
    for count, seen in enumerate(sampler.seen):
        assert (seen == logits_after([*PROMPT, *ear.tokens[:count]])).all()


def test_the_context_bounds_an_answer(engine: Engine) -> None:
    assert engine.max_context == 400
    ear = finished(ask(engine, [10] * 395, 100)[0])
    assert (len(ear.tokens), ear.finish) == (5, "length")


def test_a_prompt_without_room_for_a_token_is_refused(engine: Engine) -> None:
    finished(ask(engine, [10] * 399, 1)[0])
    with pytest.raises(
        PromptTooLong, match="402 tokens, the context 400; shorten it by at least 3"
    ):
        ask(engine, [10] * 402, 1)


@pytest.mark.parametrize(
    ("prompt", "limit", "deadline"), [([], 5, 1), (PROMPT, 0, 1), ([-1], 5, 1), ([9999], 5, 1),
     (PROMPT, 5, 0), (PROMPT, 5, float("nan")), (PROMPT, 5, float("inf"))]
)  # fmt: skip
def test_an_impossible_request_is_refused(
    engine: Engine, prompt: list[int], limit: int, deadline: float
) -> None:
    with pytest.raises(BadRequest):
        ask(engine, prompt, limit, deadline_s=deadline)


def test_a_token_carries_its_step_and_whom_the_step_served(engine: Engine, core: FakeCore) -> None:
    core.pause.clear()
    first, _ = ask(engine, PROMPT, 3, request="first")
    assert core.entered.acquire(timeout=20)
    second, _ = ask(engine, [5, 6], 2, request="second")
    core.pause.set()
    finished(first)
    finished(second)
    assert first.tables[0] == [("first", len(PROMPT), "prefill")]
    assert first.tables[1] == [("first", 1, "decode"), ("second", 2, "prefill")]
    assert first.steps == [1, 2, 3]
    assert second.steps == [2, 3]
    assert second.tables[0] == first.tables[1]


def test_the_thread_names_the_request_it_works_for_and_says_where_it_is_several(
    engine: Engine, core: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, chosen, told = [], [], []
    forward = core.forward

    def noting(work: Any) -> F32:
        rows = forward(work)
        steps.append(REQUEST_ID.get())
        return rows

    class Noting(Scripted):
        def choose(self, logits: F32, left: int) -> int:
            chosen.append(REQUEST_ID.get())
            return super().choose(logits, left)

    class Hearing(Ear):
        def token(self, token: int, finish: str, step: int, table: list[Served]) -> str:
            told.append(REQUEST_ID.get())
            return super().token(token, finish, step, table)

    monkeypatch.setattr(core, "forward", noting)
    core.pause.clear()
    ears = [Hearing(), Hearing()]
    for ear, name, count in zip(ears, ("first", "second"), (3, 2), strict=True):
        engine.submit(PROMPT, count, ear, Noting(10, 11, 12), deadline_s=60, request=name)
        if name == "first":
            assert core.entered.acquire(timeout=20)
    core.pause.set()
    for ear in ears:
        finished(ear)
    assert steps == [b"first", SHARED.encode(), SHARED.encode()]
    assert chosen == told == [b"first", b"first", b"second", b"first", b"second"]


def test_a_stop_takes_effect_before_the_next_token(engine: Engine, core: FakeCore) -> None:
    ear, _ = ask(engine, PROMPT, 50, session="s", room=3)
    other, _ = ask(engine, [5, 6], 50, session="t", room=3)
    for _ in range(3):
        assert ear.heard.acquire(timeout=20)
        assert other.heard.acquire(timeout=20)
    # Nothing is computed now: both have to catch up first.
    core.pause.clear()
    while core.entered.acquire(blocking=False):
        pass
    ear.room = other.room = 1000
    engine.wake()
    assert core.entered.acquire(timeout=20)  # a step with both of them is being computed
    told = list(ear.tokens)
    assert engine.stop("s") == 1
    assert ear.over.is_set()
    core.pause.set()
    assert finished(other).tokens == list(range(10, 60))
    assert (ear.tokens, ear.finish) == (told, "cancelled")
    assert engine.stop("s") == 0


def test_no_name_stops_nobody(engine: Engine, core: FakeCore) -> None:
    core.pause.clear()
    ear, _ = ask(engine)
    assert core.entered.acquire(timeout=20)
    assert engine.stop("") == 0
    core.pause.set()
    assert finished(ear).finish == "length"


def test_a_token_that_was_chosen_when_the_stop_came_is_not_heard(engine: Engine) -> None:
    class Stopping(Scripted):
        def choose(self, logits: F32, left: int) -> int:
            if len(self.seen) == 2:
                engine.stop("s")
            return super().choose(logits, left)

    ear = Ear()
    engine.submit(PROMPT, 5, ear, Stopping(*range(10, 20)), deadline_s=60, session="s")
    finished(ear)
    finished(ask(engine, [5, 6], 5)[0])
    assert (ear.tokens, ear.finish) == ([10, 11], "cancelled")


@pytest.mark.parametrize("length", range(13, 18))
def test_a_sequence_has_room_for_every_token_wherever_its_pages_end(
    engine: Engine, length: int
) -> None:
    for limit in (1, 2, 3, 20):
        ear = finished(ask(engine, [length] * length, limit)[0])
        assert (len(ear.tokens), ear.finish) == (limit, "length")


def test_a_cancel_ends_only_its_own(engine: Engine, core: FakeCore) -> None:
    core.pause.clear()
    one, _ = ask(engine, PROMPT, 50, session="s")
    two, _ = ask(engine, PROMPT, 5, session="s")
    engine.cancel(one)
    core.pause.set()
    assert finished(one).finish == "cancelled"
    assert finished(two).finish == "length"


def test_a_deadline_ends_what_runs_and_what_waits(engine: Engine, core: FakeCore) -> None:
    core.pause.clear()
    runs, _ = ask(engine, [10] * 300, 50, deadline_s=0.2)
    assert core.entered.acquire(timeout=20)
    waits, _ = ask(engine, [11] * 300, 50, deadline_s=0.2)
    assert not runs.over.wait(0.3)
    core.pause.set()
    assert finished(runs).finish == finished(waits).finish == "deadline"


def test_a_deadline_wakes_an_engine_that_waits_for_a_slow_reader(engine: Engine) -> None:
    ear, _ = ask(engine, PROMPT, 50, room=1, deadline_s=0.3)
    assert finished(ear).finish == "deadline"


def test_a_slow_reader_goes_on_when_it_has_read(engine: Engine) -> None:
    ear, _ = ask(engine, PROMPT, 50, room=3)
    assert finished(ask(engine, [5], 20)[0]).finish == "length"
    assert (len(ear.tokens), ear.finish) == (3, "")
    ear.room = 1000
    engine.wake()
    assert finished(ear).tokens == list(range(10, 60))


def test_more_than_may_wait_are_refused_at_the_call(engine: Engine, core: FakeCore) -> None:
    core.pause.clear()
    running, _ = ask(engine, [10] * 300, 50)
    assert core.entered.acquire(timeout=20)
    waiting = [ask(engine, [11] * 300, 50)[0] for _ in range(3)]
    with pytest.raises(Busy):
        ask(engine, PROMPT, 5)
    core.pause.set()
    for ear in [running, *waiting]:
        assert finished(ear).finish == "length"


def test_one_broken_sequence_harms_no_other(engine: Engine) -> None:
    class Broken(Scripted):
        def choose(self, logits: F32, left: int) -> int:
            raise FloatingPointError("not a number")

    ear = Ear()
    engine.submit(PROMPT, 5, ear, Broken(), deadline_s=60)
    good, _ = ask(engine, [5, 6], 5)
    assert isinstance(finished(ear).error, FloatingPointError)
    assert finished(good).finish == "length"


def test_a_failed_step_fails_those_in_it_and_the_engine_goes_on(
    engine: Engine, core: FakeCore
) -> None:
    core.fails = MemoryError("no room")
    ear, _ = ask(engine)
    assert isinstance(finished(ear).error, MemoryError)
    core.fails = None
    assert finished(ask(engine)[0]).finish == "length"


def test_an_engine_that_cannot_go_on_says_so_to_everybody(
    tiny: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Scheduler) -> None:
        raise RuntimeError("the books are wrong")

    with Engine(tiny, FakeCore()) as engine:  # type: ignore[arg-type]
        waiting, _ = ask(engine, PROMPT, 50, room=1)
        assert waiting.heard.acquire(timeout=20)
        monkeypatch.setattr(Scheduler, "plan", broken)
        engine.wake()
        assert isinstance(finished(waiting).error, RuntimeError)
        with pytest.raises(BadRequest, match="does not run"):
            ask(engine)


def test_nothing_is_live_when_all_have_ended(engine: Engine) -> None:
    for number in range(5):
        finished(ask(engine, [number + 3] * 30, 3, session=f"s{number}")[0])
    usage, _ = engine.usage()
    assert usage.live == 0
    assert usage.cached + usage.free == 400 // 16


def test_a_session_that_comes_back_computes_only_what_is_new(
    engine: Engine, core: FakeCore
) -> None:
    ear, _ = ask(engine, PROMPT, 5, session="s")
    finished(ear)
    core.calls.clear()
    longer = [*PROMPT, *ear.tokens, 50, 51]
    finished(ask(engine, longer, 1, session="s")[0])
    (only,) = core.calls
    # The last token that was made had not been read yet.
    assert list(only[0].tokens) == [ear.tokens[-1], 50, 51]
    assert engine.usage()[1] > 0


def test_closing_fails_what_is_left_and_frees_the_core(tiny: Model) -> None:
    core = FakeCore()
    with Engine(tiny, core) as engine:  # type: ignore[arg-type]
        ear, _ = ask(engine, PROMPT, 50, room=1)
    assert isinstance(finished(ear).error, EngineError)
    assert core.closed
    with pytest.raises(BadRequest, match="does not run"):
        ask(engine)


def test_an_engine_runs_once(tiny: Model) -> None:
    core = FakeCore()
    with Engine(tiny, core) as engine:  # type: ignore[arg-type]
        with pytest.raises(BadRequest, match="make another one"), engine:
            pass
        assert finished(ask(engine)[0]).finish == "length"
    with pytest.raises(BadRequest, match="make another one"), engine:
        pass


class Deaf(Ear):
    """Stays in the engine's call, which holds the lock, until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.leave = threading.Event(), threading.Event()

    def token(self, token: int, finish: str, step: int, table: list[Served]) -> str:
        self.inside.set()
        assert self.leave.wait(60)
        return super().token(token, finish, step, table)


def _in_child(engine: Engine, stream: Stream, answers: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: ask(engine), engine.usage, engine.wake, lambda: engine.stop("s"),
        lambda: engine.cancel(Ear()), engine.__enter__, stream.take, lambda: next(stream),
    ]  # fmt: skip
    for call in calls:
        try:
            call()
            answers.put("")
        except Forked as error:
            answers.put(str(error))
    engine.__exit__(None, None, None)
    answers.put("closed")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_is_refused_whatever_it_asks_and_whoever_held_the_lock(
    engine: Engine,
) -> None:
    stream = Generator(engine).stream("Hi", 5, room=1)
    ear = Deaf()
    engine.submit(PROMPT, 5, ear, Scripted(*range(10, 20)), deadline_s=60)
    assert ear.inside.wait(20)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_in_child, args=(engine, stream, answers))
    child.start()
    try:
        for _ in range(8):
            assert "load it after the fork" in answers.get(timeout=20)
        assert answers.get(timeout=20) == "closed"
    finally:
        child.kill()
        child.join(20)
        ear.leave.set()
    assert finished(ear).finish == "length"
