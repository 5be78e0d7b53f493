"""Continuous batching: which sequences get how many tokens computed in the next step.

No clock, no thread, no memory: it is told the time and the pool, and says what to do.
Sequences take turns, whoever was served longest ago first, so nobody starves: sequences that write
(decode) take one token each, at most `BATCH` of them, and prompts (prefill) fill the
rest of the step in chunks. Sequences wait outside, first come first served, until the
pool can promise them room for their whole length; so a running one never runs out. One
whose reader does not read for `PATIENCE_S` gives its room up to those who wait, and takes
the next that there is when its reader has read; what the pool has lost is computed again.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Literal

from apps.engine.errors import Busy, PoolFull
from apps.engine.pool import Pool
from apps.engine.sequence import Sequence, Served

BATCH = 8
# Tokens of a step: while others write, a step is short enough that they are not held up.
CHUNK_SHARED = 64
CHUNK_ALONE = 256
# How long a reader who has no room left may read nothing while others wait for its room.
# Much longer than to compute again what that costs, or they would only take it from each other.
PATIENCE_S = 1.0


@dataclass(frozen=True)
class Part:
    """Tokens of one sequence, from position `start` on; `last`: the next one is wanted."""

    sequence: Sequence
    tokens: list[int]
    start: int
    pages: list[int]
    last: bool

    @property
    def kind(self) -> Literal["prefill", "decode"]:
        reads = self.start < len(self.sequence.prompt) or len(self.tokens) > 1
        return "prefill" if reads else "decode"


@dataclass(frozen=True)
class Step:
    """What is computed at once; `id` rises from 1."""

    id: int
    parts: tuple[Part, ...]

    @cached_property
    def table(self) -> list[Served]:
        """The requests that the step serves."""
        return [(part.sequence.request, len(part.tokens), part.kind) for part in self.parts]


class Scheduler:
    """At most `waiting` sequences wait for room in the pool; times are the caller's seconds."""

    def __init__(self, pool: Pool, waiting: int) -> None:
        self._pool = pool
        self._room = waiting
        self._waiting: deque[Sequence] = deque()
        self._suspended: list[Sequence] = []  # for a slow reader; the first to go on first
        self._running: list[Sequence] = []  # the next to be served first
        self._step = 0
        self._now = 0.0

    @property
    def sequences(self) -> list[Sequence]:
        """All that have not ended."""
        return [*self._running, *self._suspended, *self._waiting]

    def add(self, sequence: Sequence) -> None:
        """Take a sequence on. Errors: `Busy` when too many wait."""
        if len(self._waiting) >= self._room:
            raise Busy(
                f"{len(self._running)} answers are written and {self._room} wait; ask again later"
            )
        self._waiting.append(sequence)

    def end(self, which: Callable[[Sequence], bool], finish: str) -> list[Sequence]:
        """End these sequences now; their pages may serve others."""
        ended = [sequence for sequence in self.sequences if which(sequence)]
        for sequence in ended:
            sequence.finish = finish
        self._clear()
        return ended

    def expire(self, now: float) -> list[Sequence]:
        """End the sequences whose deadline has come; it is `now` until the next call."""
        self._now = now
        for sequence in self._running:
            sequence.look(now, PATIENCE_S)
        return self.end(lambda sequence: now >= sequence.deadline, "deadline")

    def next_deadline(self) -> float | None:
        """When there will be something to do if nothing happens before."""
        times = [sequence.deadline for sequence in self.sequences]
        if self._next():
            times += [sequence.patience for sequence in self._running]
        return min(times, default=None)

    def plan(self) -> Step | None:
        """The next step, its pages given out; None if nobody can go on now."""
        self._admit()
        ready = [sequence for sequence in self._running if not sequence.output.full]
        writing = [sequence for sequence in ready if sequence.writes][:BATCH]
        parts = [self._part(sequence, 1) for sequence in writing]
        left = (CHUNK_SHARED if writing else CHUNK_ALONE) - len(parts)
        for sequence in ready:
            if left < 1:
                break
            if not sequence.writes and (count := self._chunk(sequence, left)) > 0:
                parts.append(self._part(sequence, count))
                left -= count
        if not parts:
            return None
        self._step += 1
        step = Step(self._step, tuple(parts))
        self._to_the_end(step)
        return step

    def commit(self, part: Part) -> None:
        """The part was computed."""
        assert part.sequence.table is not None
        self._pool.commit(part.sequence.table, part.tokens)

    def settle(self) -> None:
        """Let go of the sequences that have finished in this step."""
        self._clear()

    def _admit(self) -> None:
        while first := self._next():
            try:
                first.table = self._pool.open(first.tokens, first.positions, first.session)
            except PoolFull:
                if not self._suspend():
                    return
            else:
                if first in self._suspended:
                    self._suspended.remove(first)
                else:
                    self._waiting.remove(first)
                    first.output.begun(first.table.length)
                self._running.append(first)

    def _next(self) -> Sequence | None:
        """Who gets the next room."""
        again = (one for one in self._suspended if not one.output.full)
        return next(chain(again, self._waiting), None)

    def _suspend(self) -> bool:
        """Take the room of the one whose reader has been slow for longest; whether there is one."""
        slow = min(self._running, key=lambda one: one.patience, default=None)
        if slow is None or slow.patience > self._now or not slow.output.full:
            return False
        self._close(slow)
        self._running.remove(slow)
        self._suspended.append(slow)
        return True

    def _to_the_end(self, step: Step) -> None:
        """Whoever is served now comes last next time."""
        for part in step.parts:
            part.sequence.served = step.id
        served = [part.sequence for part in step.parts]
        self._running = [one for one in self._running if one not in served] + served

    def _chunk(self, sequence: Sequence, left: int) -> int:
        """How many of at most `left` tokens to read; a part of a prompt ends with a page."""
        table = sequence.table
        assert table is not None
        self._pool.look_again(table, sequence.tokens)
        rest = sequence.unread
        return rest if rest <= left else left - (table.length + left) % self._pool.page

    def _part(self, sequence: Sequence, count: int) -> Part:
        table = sequence.table
        assert table is not None
        waiting = sequence.waiting(table.length)
        self._pool.extend(table, count)
        return Part(
            sequence, waiting[:count], table.length, list(table.pages), count == len(waiting)
        )

    def _close(self, sequence: Sequence) -> None:
        if sequence.table:
            self._pool.close(sequence.table, sequence.session)
            sequence.table = None

    def _clear(self) -> None:
        for sequence in self._running:
            if sequence.finish:
                self._close(sequence)
        self._running = [one for one in self._running if not one.finish]
        self._suspended = [one for one in self._suspended if not one.finish]
        self._waiting = deque(one for one in self._waiting if not one.finish)
