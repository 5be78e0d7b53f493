"""Our core as a subject."""

import sys
from time import perf_counter
from typing import Any

import numpy as np

from apps.engine.core import PAGE, Core
from apps.engine.model import Model
from apps.engine.slices import Slice
from tests.bench.contest.subject import F32, Rows, Tasks, serve

POOL = 2048


class Ours:
    """One core whose pool belongs to one sequence, or to a few equal ones."""

    def __init__(self, path: str, threads: int) -> None:
        begun = perf_counter()
        model = Model.open(path)
        opened = perf_counter()
        self._core = Core(model, pool_tokens=POOL, threads=threads)
        self.loading = {"load_open_s": opened - begun, "load_core_s": perf_counter() - opened}
        self.threads = self._core.threads
        self._length = 0

    def start(self) -> None:
        self._length = 0

    def feed(self, tokens: list[int], rows: Rows = "last") -> F32:
        end = self._length + len(tokens)
        work = Slice(tokens, self._length, range(-(-end // PAGE)), rows)
        self._length = end
        return self._core.forward([work])

    def sessions(self, tokens: list[int], count: int, sessions: int) -> dict[str, float]:
        """`sessions` sequences that read `tokens`, then write `count` each in common steps."""
        pages = -(-(len(tokens) + count) // PAGE)
        tables = [range(first * pages, (first + 1) * pages) for first in range(sessions)]
        rows = np.concatenate([self._core.forward([Slice(tokens, 0, own)]) for own in tables])
        begun = perf_counter()
        for at in range(len(tokens), len(tokens) + count):
            chosen = rows.argmax(axis=1).tolist()
            pairs = zip(chosen, tables, strict=True)
            rows = self._core.forward([Slice([token], at, own) for token, own in pairs])
        return {"per_s": sessions * count / (perf_counter() - begun)}


def more(ours: Any) -> Tasks:
    """What only our core is asked."""
    return {"sessions": ours.sessions, "loading": lambda: ours.loading}


if __name__ == "__main__":
    serve(lambda: Ours(sys.argv[1], int(sys.argv[2])), more)
