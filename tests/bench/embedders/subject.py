"""The process that serves one way to embed: it does what the lines of its input say."""

import json
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from apps.embedder.embedder import F32
from tests.bench.contest.subject import memory, reply


class Subject(Protocol):
    """Texts, as passages, to vectors f32 [texts, 384]."""

    def __call__(self, texts: Sequence[str]) -> F32: ...


def serve(load: Callable[[], Subject]) -> None:
    begun = perf_counter()
    subject = load()
    reply({"load_s": perf_counter() - begun})

    def timed(texts: list[str]) -> dict[str, Any]:
        """Seconds for all the texts, given at once."""
        begun = perf_counter()
        subject(texts)
        return {"seconds": perf_counter() - begun}

    def vectors(texts: list[str], to: str) -> dict[str, Any]:
        np.save(Path(to), np.concatenate([subject([text]) for text in texts]))
        return {"saved": to}

    def requests(texts: list[str], count: int, seed: int) -> dict[str, Any]:
        """`count` requests of one or two of the texts, and the memory after them."""
        chance = random.Random(seed)
        for _ in range(count):
            subject(chance.choices(texts, k=chance.randint(1, 2)))
        return memory()

    tasks: dict[str, Callable[..., dict[str, Any]]] = {
        "timed": timed,
        "vectors": vectors,
        "requests": requests,
        "memory": memory,
    }
    for line in sys.stdin:
        order = json.loads(line)
        reply(tasks[order.pop("do")](**order))
