"""Batches that every attention kernel must compute, and their float64 truth."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

PAGE = 16

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """`sequences` are (positions already kept, new queries); values are about `size` large.

    `tolerance` is a share of `size`: float32 scores of thousands are right to some 1e-4.
    """

    name: str
    sequences: tuple[tuple[int, int], ...]
    heads: int = 9
    kv_heads: int = 3
    head: int = 64
    size: float = 1.0
    tolerance: float = 2e-5


CASES = [
    Case("one token alone", ((0, 1),)),
    Case("prefill of less than a page", ((0, 7),)),
    Case("prefill over many pages", ((0, 150),)),
    Case("a later chunk of a prefill", ((100, 33),)),
    Case("decode at a page's last position", ((15, 1),)),
    Case("decode at a page's first position", ((16, 1),)),
    Case("decode of a ragged batch", ((0, 1), (40, 1), (3, 1), (257, 1))),
    Case("decode and prefill in one batch", ((31, 1), (0, 70), (128, 1), (50, 20))),
    Case("a long context", ((2_030, 1), (700, 10))),
    Case("one KV head for all", ((10, 30),), heads=8, kv_heads=1),
    Case("a KV head for each", ((10, 30),), heads=4, kv_heads=4),
    Case("narrow heads", ((10, 30),), heads=4, kv_heads=2, head=16),
    Case("wide heads", ((10, 30),), heads=4, kv_heads=2, head=128),
    Case("heads of no power of two", ((10, 30),), heads=6, kv_heads=2, head=80),
    Case("one sharp peak a query", ((60, 40),), size=30.0, tolerance=1e-3),
    Case("extreme scores", ((140, 40), (300, 1)), size=2_000.0, tolerance=1e-3),
]


@dataclass(frozen=True, eq=False)
class Batch:
    """A case as arrays.

    queries [queries, heads, head] float32, by sequence; pool [pages, KV heads, 2 x head x PAGE]
    float16, keys [head, PAGE] then values [PAGE, head]; every cell without a position is NaN.
    """

    case: Case
    queries: npt.NDArray[np.float32]
    pool: npt.NDArray[np.float16]
    pages: tuple[tuple[int, ...], ...]
    keys: tuple[npt.NDArray[np.float16], ...]  # of each sequence [positions, KV heads, head]
    values: tuple[npt.NDArray[np.float16], ...]


@cache
def batch(case: Case) -> Batch:
    """The case with random values; the pages of a sequence lie scattered."""
    random = np.random.default_rng(len(case.name))
    ends = [start + count for start, count in case.sequences]
    needs = [-(-end // PAGE) for end in ends]
    order = iter(random.permutation(sum(needs) + 3).tolist())
    pages = tuple(tuple(next(order) for _ in range(need)) for need in needs)
    pool = np.full((sum(needs) + 3, case.kv_heads, 2 * case.head * PAGE), np.nan, np.float16)

    def halves(end: int) -> npt.NDArray[np.float16]:
        shape = (end, case.kv_heads, case.head)
        return (random.standard_normal(shape) * case.size).astype(np.float16)

    keys, values = tuple(map(halves, ends)), tuple(map(halves, ends))
    for table, k, v in zip(pages, keys, values, strict=True):
        for position in range(len(k)):
            page = pool[table[position // PAGE]].reshape(case.kv_heads, 2, case.head * PAGE)
            page[:, 0].reshape(case.kv_heads, case.head, PAGE)[:, :, position % PAGE] = k[position]
            page[:, 1].reshape(case.kv_heads, PAGE, case.head)[:, position % PAGE] = v[position]
    shape = (sum(count for _, count in case.sequences), case.heads, case.head)
    queries = (random.standard_normal(shape) * case.size).astype(np.float32)
    return Batch(case, queries, pool, pages, keys, values)


@cache
def truth(given: Batch) -> F64:
    """Attention [queries, heads, head] of one query and one head at a time."""
    out, row = np.empty(given.queries.shape), 0
    sharing = given.case.heads // given.case.kv_heads
    for (start, count), k, v in zip(given.case.sequences, given.keys, given.values, strict=True):
        for seen in range(start + 1, start + count + 1):
            for head in range(given.case.heads):
                query = given.queries[row, head].astype(np.float64)
                scores = k[:seen, head // sharing] @ query / given.case.head**0.5
                weights = np.exp(scores - scores.max())
                out[row, head] = weights / weights.sum() @ v[:seen, head // sharing]
            row += 1
    return out
