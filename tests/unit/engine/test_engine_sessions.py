"""1,000 mixed sessions: nothing leaks, and every token's logits are those of an uncached run."""

import random
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest

from apps.engine.core import PAGE, Core
from apps.engine.engine import Engine
from apps.engine.errors import Busy
from apps.engine.model import Model
from apps.engine.quant import F32
from apps.engine.sampler import Sampler, Sampling
from apps.engine.sequence import Served
from apps.engine.slices import Slice
from tests.unit.engine.fake_core import FakeCore, logits_after

pytestmark = pytest.mark.slow

POOL_TOKENS = 1024
LONGEST = 400
AT_ONCE = 20


class Recorder(Sampler):
    """Keeps the logits of every token that it chose; `stop` comes while it chooses one."""

    def __init__(self, seed: int, stops_after: int, stop: Callable[[], None]) -> None:
        super().__init__(Sampling(temperature=1.0, seed=seed))
        self.seen: list[F32] = []
        self._stops_after = stops_after
        self._stop = stop

    def choose(self, logits: F32, left: int) -> int:
        self.seen.append(logits.copy())
        if len(self.seen) > self._stops_after:
            self._stop()
        return super().choose(logits, left)


@dataclass
class Talk:
    """One session: its turns to come, and what was said."""

    session: str
    turns: list[tuple[list[int], int]]  # new tokens of the user's, tokens to make
    stops_after: int
    said: list[int] = field(default_factory=list)
    done: list[tuple[list[int], list[int], list[F32]]] = field(default_factory=list)
    prompt: list[int] = field(default_factory=list)
    made: list[int] = field(default_factory=list)
    recorder: Recorder | None = None
    ended: bool = False
    full: bool = False
    over: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def begun(self, found: int) -> None: ...

    def token(self, token: int, finish: str, step: int, table: list[Served]) -> str:
        self.made.append(token)
        self.ended = bool(finish)
        self.over.release()
        return finish

    def end(self, finish: str) -> None:
        self.ended = True
        self.over.release()

    def fail(self, error: Exception) -> None:
        raise AssertionError(error)


def mix(count: int, chance: random.Random) -> list[Talk]:
    """Three system prompts, questions of 3 to 80 tokens, answers of 1 to 24; every third
    session comes back, at most four times; one in twenty is stopped."""
    systems = [[chance.randrange(3, 260) for _ in range(length)] for length in (21, 48, 70)]
    talks = []
    for number in range(count):
        turns = []
        for turn in range(1 if number % 3 else chance.randint(2, 5)):
            text = [chance.randrange(3, 260) for _ in range(chance.randint(3, 80))]
            turns.append((text if turn else chance.choice(systems) + text, chance.randint(1, 24)))
        stops = chance.randint(1, 5) if chance.random() < 0.05 else 1000
        talks.append(Talk(f"s{number}", turns, stops))
    return talks


def begin(engine: Engine, talk: Talk, seed: int) -> bool:
    """Ask the next turn, with everything that was said before; False if there is no room."""
    text, limit = talk.turns[0]
    prompt = talk.said + text
    if len(prompt) + limit > LONGEST:
        talk.turns = []
        return False
    talk.prompt, talk.made, talk.ended = prompt, [], False
    talk.recorder = Recorder(seed, talk.stops_after, lambda: engine.cancel(talk))
    try:
        engine.submit(prompt, limit, talk, talk.recorder, deadline_s=300, session=talk.session)
    except Busy:
        return False
    talk.turns.pop(0)
    return True


def settle(talk: Talk) -> None:
    """Wait for the turn's end."""
    while not talk.ended:
        assert talk.over.acquire(timeout=60)
    assert talk.recorder
    talk.done.append((talk.prompt, list(talk.made), talk.recorder.seen))
    talk.said = talk.prompt + talk.made


def converse(engine: Engine, talks: list[Talk], chance: random.Random) -> None:
    """All of them, some at once; a session comes back after a while."""
    open_ = list(talks)
    while open_:
        now = chance.sample(open_, min(AT_ONCE, len(open_)))
        for talk in [talk for talk in now if begin(engine, talk, chance.randrange(1 << 30))]:
            settle(talk)
        open_ = [talk for talk in open_ if talk.turns]


Uncached = Callable[[list[int], list[int]], Sequence[F32]]


def fake(model: Model) -> tuple[FakeCore, Uncached]:
    def uncached(prompt: list[int], made: list[int]) -> list[F32]:
        return [logits_after(prompt + made[:count]) for count in range(len(made))]

    return FakeCore(POOL_TOKENS), uncached


def real(model: Model) -> tuple[Core, Uncached]:
    alone = Core(model, pool_tokens=LONGEST, threads=1)
    pages = list(range(alone.pages))

    def uncached(prompt: list[int], made: list[int]) -> F32:
        tokens = (prompt + made)[:-1]
        whole = Slice(tokens, 0, pages[: -(-len(tokens) // PAGE)], "every")
        return alone.forward([whole])[len(prompt) - 1 :]

    return Core(model, pool_tokens=POOL_TOKENS, threads=2), uncached


@pytest.mark.parametrize(("make", "count"), [(fake, 250), (real, 1000)])
def test_mixed_sessions_equal_uncached_runs_to_the_bit(
    tiny: Model, make: Callable[[Model], tuple[Core, Uncached]], count: int
) -> None:
    chance = random.Random(11)
    core, uncached = make(tiny)
    talks = mix(count, chance)
    with Engine(tiny, core, waiting=8) as engine:
        converse(engine, talks, chance)
        usage, hit_rate = engine.usage()
    assert (usage.live, usage.shared) == (0, 0)
    assert usage.cached + usage.free == POOL_TOKENS // PAGE
    assert hit_rate > 0.3
    runs = [run for talk in talks for run in talk.done]
    assert len(runs) > count
    for prompt, made, seen in runs:
        for expected, logits in zip(uncached(prompt, made), seen, strict=False):
            assert (logits == expected).all()
