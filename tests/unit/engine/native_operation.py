"""Single operations of the compiled kernels, over work space that a test writes and reads."""

import mmap
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.engine.native import load
from apps.engine.plan import SIZES, Kind, Plan
from tests.unit.engine.tiny_gguf import Raw

F32 = npt.NDArray[np.float32]
NAMES = {0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 8: "Q8_0"}


class Operation:
    """A plan of a few operations; `weights` grow by `tensor`, work space by the plan's own."""

    def __init__(self, rows: int, **sizes: int) -> None:
        given = {"pages": 1, "positions": 1, "layers": 1, "heads": 1, "kv_heads": 1, "head": 2}
        self.plan = Plan(np.zeros((), SIZES))
        for name, value in (given | {"vocabulary": 1 << 20, "rows": rows} | sizes).items():
            self.plan.sizes[name] = value
        self.weights = b""
        self.turns = np.zeros((64, 64), np.float32)
        self.inputs: list[tuple[int, F32]] = []
        self.pages = np.zeros(0, np.uint16)

    def tensor(self, raw: Raw) -> Any:
        """A tensor of the weights, which need no alignment."""
        offset = len(self.weights)
        self.weights += raw.data
        name = SimpleNamespace(name=NAMES[raw.code])
        return SimpleNamespace(shape=tuple(raw.shape), offset=offset, format=name)

    def input(self, values: F32) -> int:
        """Work space with `values` [rows, width] in it."""
        at = self.plan.place(values.nbytes)
        self.inputs.append((at, values))
        return at

    def normed(self, values: F32) -> int:
        """Activations that are `values` over their root mean square."""
        width = values.shape[1]
        ones = self.tensor(Raw((width,), 0, np.ones(width, "<f4").tobytes()))
        at = self.plan.activations(width)
        self.plan.add(
            Kind.NORM, (ones, 0), source=self.input(values), source_width=width, target=at
        )
        return at

    def run(
        self,
        isa: str,
        *,
        positions: Sequence[int] = (),
        rows: int | None = None,
        threads: int = 2,
    ) -> Callable[[int, tuple[int, ...]], F32]:
        """Compute once; the result reads float32 of a shape out of the work space."""
        sizes, count = self.plan.sizes, rows or int(self.plan.sizes["rows"])
        work = mmap.mmap(-1, max(self.plan.work_bytes, 1))
        for at, values in self.inputs:
            np.frombuffer(work, np.float32, values.size, at)[:] = values.ravel()
        cells = int(sizes["layers"] * sizes["pages"] * sizes["kv_heads"] * sizes["head"]) * 32
        pool = mmap.mmap(-1, 2 * cells)
        core = load().Core(
            sizes=sizes,
            ops=self.plan.ops,
            weights=self.weights,
            turns=self.turns,
            pool=pool,
            work=work,
            threads=threads,
            isa=isa,
            cpus=(),
        )
        places = [*positions] or [0] * count
        core.run(step_of([0] * count, places, [0] * count, [], [0]), np.empty(0, np.float32))
        core.close()
        self.pages = np.frombuffer(pool, np.uint16)

        def read(at: int, shape: tuple[int, ...]) -> F32:
            return np.frombuffer(work, np.float32, int(np.prod(shape)), at).reshape(shape)

        return read


def step_of(
    tokens: Sequence[int],
    positions: Sequence[int],
    tables: Sequence[int],
    wanted: Sequence[int],
    pages: Sequence[int],
) -> npt.NDArray[np.int32]:
    """A step as the compiled side reads it."""
    sizes = [len(tokens), len(wanted), len(pages)]
    return np.array([*sizes, *tokens, *positions, *tables, *wanted, *pages], np.int32)
