"""A core whose logits depend on every token in the pages it is given, and on nothing else."""

import threading
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from apps.engine.core import PAGE
from apps.engine.quant import F32
from apps.engine.slices import Slice

VOCABULARY = 266
EMPTY = -1


class FakeCore:
    """Keeps tokens where the real one keeps keys and values. `pause` holds up each call."""

    def __init__(self, pool_tokens: int = 400) -> None:
        self.pages = pool_tokens // PAGE
        self.memory = np.full((self.pages, PAGE), EMPTY)
        self.calls: list[list[Slice]] = []
        self.pause = threading.Event()
        self.pause.set()
        self.entered = threading.Semaphore(0)
        self.fails: Exception | None = None
        self.closed = False

    def forward(self, work: Sequence[Slice]) -> F32:
        self.entered.release()
        assert self.pause.wait(20)
        if self.fails:
            raise self.fails
        self.calls.append(list(work))
        written = [self._write(slice_) for slice_ in work]
        assert len(set().union(*written)) == sum(map(len, written)), "two slices write one place"
        rows = [self._logits(slice_) for slice_ in work if slice_.logits == "last"]
        return np.array(rows, np.float32).reshape(len(rows), VOCABULARY)

    def close(self) -> None:
        self.closed = True

    def _write(self, slice_: Slice) -> set[tuple[int, int]]:
        places = {
            (slice_.pages[position // PAGE], position % PAGE)
            for position in range(slice_.start, slice_.start + len(slice_.tokens))
        }
        for number, token in enumerate(slice_.tokens):
            position = slice_.start + number
            self.memory[slice_.pages[position // PAGE], position % PAGE] = token
        return places

    def _logits(self, slice_: Slice) -> F32:
        end = slice_.start + len(slice_.tokens)
        held = self.memory[list(slice_.pages)].reshape(-1)[:end]
        assert EMPTY not in held
        return logits_after(held.tolist())


def logits_after(tokens: list[int]) -> F32:
    """What this core says after these tokens; it never ends a turn by itself."""
    digest = blake2b(np.array(tokens, np.int64).tobytes(), digest_size=8).digest()
    random = np.random.default_rng(int.from_bytes(digest, "big"))
    logits = random.standard_normal(VOCABULARY, np.float32)
    logits[:3] -= 1000
    return logits
