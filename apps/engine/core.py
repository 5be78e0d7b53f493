"""The computation over one mapped model: rows of several sequences in, logits out.

Nothing is implicit: weights are used where they lie in the mapping; keys and values live
in one pool of pages whose numbers are the caller's accounting; every sum has one order, so
that the logits of a position are the same to the bit whatever else is in the step, however
its prompt was cut, whichever pages it has and however many threads compute (for one `isa`).
"""

import mmap
import os
from collections.abc import Sequence

import numpy as np

from apps.engine.errors import BadRequest
from apps.engine.graph import Room, plan
from apps.engine.model import Model
from apps.engine.native import load
from apps.engine.owner import Owner
from apps.engine.quant import F32
from apps.engine.ranges import marked
from apps.engine.slices import ROWS, Slice, packed, steps
from apps.engine.start_up import Progress, StartUp, read_ahead, touch
from apps.engine.threads import checked, default_threads, exclusive_cpus

PAGE = 16  # tokens of a KV page


class Core:
    """One model, its KV memory and its threads. For one thread, in the process that made it.

    Memory beside the mapping: 4 x layers x KV heads x head bytes for each of `pool_tokens`
    (f16 keys and values), the work space of `ROWS` rows, and 4 bytes for each of
    `pool_tokens` x head turns: `anonymous_bytes` in all.
    Errors: `BadRequest` for a pool, a thread count or an instruction set that cannot be,
    `BadArtefact`, `CoreMissing`.
    """

    def __init__(
        self,
        model: Model,
        *,
        pool_tokens: int = 2048,
        threads: int | None = None,
        isa: str | None = None,
        progress: Progress = lambda line: None,
    ) -> None:
        self._owner = Owner()
        if not PAGE <= pool_tokens <= 1 << 24:
            raise BadRequest(f"a pool of {pool_tokens} tokens; choose {PAGE} to {1 << 24}")
        self.model = model
        self.pages = pool_tokens // PAGE
        self.positions = min(self.pages * PAGE, model.config.context)
        self.threads = default_threads() if threads is None else checked(threads)
        self.isa = _isa(isa or os.environ.get("ENGINE_ISA"))
        self.start_up = StartUp()
        with self.start_up.phase("read ahead"):
            read_ahead(model.file.mapping)
        with self.start_up.phase("plan"):
            self._plan()
        with self.start_up.phase("touch"):
            touch(model.file.mapping, progress)
        with self.start_up.phase("warm up"):
            self.forward([Slice([0], 0, [0])])
        progress(f"ready in {self.start_up.seconds:.2f} s: {self.start_up}")

    def _plan(self) -> None:
        config = self.model.config
        made = plan(self.model, Room(ROWS, self.pages, self.positions))
        turns = _turns(config.rotary.frequencies, config.rotary.magnitude, self.positions)
        values = PAGE * config.head * config.kv_heads * config.layers * self.pages
        pool, work = self._memory(2 * values * 2), self._memory(made.work_bytes)
        self.anonymous_bytes = len(pool) + len(work) + turns.nbytes
        self._native = load().Core(
            sizes=made.sizes,
            ops=made.ops,
            weights=self.model.file.mapping,
            turns=turns,
            pool=pool,
            work=work,
            threads=self.threads,
            isa=self.isa,
            cpus=exclusive_cpus(self.threads),
        )

    def _memory(self, size: int) -> mmap.mmap:
        try:
            # Private, or the kernel would count it as shared memory and not as this process's own.
            return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        except OSError as error:
            raise BadRequest(
                f"{size / 1e6:.0f} MB for a pool of {self.pages * PAGE} tokens cannot be had"
                f" ({error.strerror}); choose a smaller pool"
            ) from None

    def forward(self, work: Sequence[Slice]) -> F32:
        """Logits [rows wanted, vocabulary], in the order of `work`.

        Errors: `BadRequest` for a slice that cannot be computed (then nothing was), `Forked`.
        """
        self._owner.check()
        for one in work:
            self._check(one)
        count = sum(len(one.wanted) for one in work)
        logits = np.empty((count, self.model.config.vocabulary), np.float32)
        done = 0
        for pieces in steps(work):
            step, wanted = packed(pieces)
            with marked("step"):
                self._native.run(step, logits[done : done + wanted])
            done += wanted
        return logits

    def close(self) -> None:
        """End the threads and free the memory; safe to call twice."""
        self._native.close()

    def _check(self, one: Slice) -> None:
        end, words = one.start + len(one.tokens), self.model.config.vocabulary
        if not one.tokens or one.start < 0 or end > self.positions:
            raise BadRequest(
                f"{len(one.tokens)} tokens from position {one.start};"
                f" choose at least one, within 0 to {self.positions - 1}"
            )
        if len(one.pages) * PAGE < end:
            raise BadRequest(f"{len(one.pages)} pages of {PAGE} do not cover {end} positions")
        if not 0 <= min(one.tokens) <= max(one.tokens) < words:
            raise BadRequest(f"token ids go from 0 to {words - 1}; use this model's tokeniser")
        if not 0 <= min(one.pages) <= max(one.pages) < self.pages:
            raise BadRequest(f"page numbers go from 0 to {self.pages - 1}")


def _isa(wanted: str | None) -> str:
    """The best instruction set of this CPU, or the one that was asked for."""
    available: list[str] = load().available()
    if wanted and wanted not in available:
        raise BadRequest(
            f"instruction set {wanted!r} (ENGINE_ISA); this CPU has {', '.join(available)}"
        )
    return wanted or available[0]


def _turns(frequencies: Sequence[float], magnitude: float, positions: int) -> F32:
    """Cosine and sine of each pair, [positions, pairs, 2]."""
    angles = np.arange(positions)[:, None] * np.asarray(frequencies)
    turns = np.stack([np.cos(angles), np.sin(angles)], axis=-1) * magnitude
    return np.ascontiguousarray(turns, np.float32)
