"""The compiled kernels' attention by itself: a plan of the operations around it, and no model.

The "vocabulary" is a table whose row is a token's queries, keys and values side by side, and the
"head" is the identity, so that a token's logits are what attention gave.
"""

import mmap
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.engine.core import PAGE
from apps.engine.native import load
from apps.engine.plan import SIZES, Kind, Plan

F32 = npt.NDArray[np.float32]
_NAN = b"\x00\x7e"  # float16


class NativeAttention:
    """One layer over a pool whose every cell is NaN until it is written.

    `table` [tokens, (heads + 2 x KV heads) x head]: queries, keys, values of each token.
    `rows` is the most tokens of a step; with `mixes` segments or fewer in a step the threads
    share them, with more each takes whole rows.
    """

    def __init__(
        self,
        table: F32,
        heads: int,
        kv_heads: int,
        head: int,
        *,
        pages: int,
        rows: int,
        mixes: int,
        isa: str,
        threads: int = 2,
    ) -> None:
        self._width = heads * head
        self._vocabulary = max(len(table), self._width)
        table = np.pad(table, ((0, self._vocabulary - len(table)), (0, 0)))
        eye = np.eye(self._width, dtype=np.float32)
        made = Plan(_sizes(heads, kv_heads, head, pages, rows, mixes, self._vocabulary))
        made.sizes["mixes_at"] = made.place(mixes * heads * load().mix_bytes(head))
        _add(made, _matrix(table, 0), _matrix(eye, table.nbytes), head)
        pool = mmap.mmap(-1, 2 * 2 * PAGE * head * kv_heads * pages)
        pool.write(_NAN * (len(pool) // 2))
        self.bytes = len(pool) + made.work_bytes
        self._core = load().Core(
            sizes=made.sizes,
            ops=made.ops,
            weights=np.concatenate([table.ravel(), eye.ravel()]),
            turns=np.zeros(2, np.float32),
            pool=pool,
            work=mmap.mmap(-1, max(made.work_bytes, 1)),
            threads=threads,
            isa=isa,
            cpus=(),
        )

    def step(
        self, tokens: Sequence[int], starts: Sequence[tuple[int, int, Sequence[int]]], wanted: bool
    ) -> F32:
        """Write the tokens' keys and values; attention [tokens, heads x head] if `wanted`.

        `starts` are (first position, tokens, pages) of each sequence, in the tokens' order.
        """
        positions: list[int] = []
        tables: list[int] = []
        pages: list[int] = []
        for first, count, own in starts:
            positions += range(first, first + count)
            tables += [len(pages)] * count
            pages += own
        rows = range(len(tokens) if wanted else 0)
        sizes = [len(tokens), len(rows), len(pages)]
        step = np.array([*sizes, *tokens, *positions, *tables, *rows, *pages], np.int32)
        out = np.empty((len(rows), self._vocabulary), np.float32)
        self._core.run(step, out)
        return out[:, : self._width]

    def close(self) -> None:
        self._core.close()


def _sizes(
    heads: int, kv_heads: int, head: int, pages: int, rows: int, mixes: int, vocabulary: int
) -> npt.NDArray[Any]:
    sizes = np.zeros((), SIZES)
    sizes["heads"], sizes["kv_heads"], sizes["head"] = heads, kv_heads, head
    sizes["rows"], sizes["pages"], sizes["positions"] = rows, pages, pages * PAGE
    sizes["layers"], sizes["vocabulary"], sizes["mixes"] = 1, vocabulary, mixes
    return sizes


def _matrix(values: F32, offset: int) -> Any:
    return SimpleNamespace(shape=values.shape, offset=offset, format=SimpleNamespace(name="F32"))


def _add(made: Plan, table: Any, eye: Any, head: int) -> None:
    width, columns = eye.shape[0], table.shape[1]
    heads, mixed = made.rows(columns), made.activations(width)
    made.add(Kind.EMBED, (table, 0), target=heads, target_width=columns)
    made.add(Kind.ROTATE, source=heads, source_width=columns)
    made.add(Kind.ATTEND, source=heads, source_width=columns, target=mixed, constant=head**-0.5)
    made.add(Kind.MERGE, target=mixed)
    made.add(
        Kind.PRODUCT,
        (eye, 0),
        source=mixed,
        target_width=int(made.sizes["vocabulary"]),
        to_logits=1,
        selected=1,
    )
