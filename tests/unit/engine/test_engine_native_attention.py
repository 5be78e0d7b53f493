"""The compiled attention kernels of every instruction set, on the cases of the GPU's kernel."""

import numpy as np
import pytest

from apps.engine.native import load
from tests.unit.engine.attention_cases import CASES, F64, Batch, Case, batch, truth
from tests.unit.engine.native_attention import NativeAttention


def attended(given: Batch, isa: str, mixes: int) -> F64:
    """The kept positions in one step, then the new queries in another."""
    case = given.case
    counts = [start + new for start, new in case.sequences]
    queries = [np.zeros((count, case.heads, case.head), np.float32) for count in counts]
    row = 0
    for (start, new), own in zip(case.sequences, queries, strict=True):
        own[start:] = given.queries[row : row + new]
        row += new
    parts = zip(queries, given.keys, given.values, strict=True)
    table = np.concatenate([np.concatenate(part, axis=1) for part in parts])
    kernel = NativeAttention(
        table.reshape(len(table), -1).astype(np.float32),
        case.heads,
        case.kv_heads,
        case.head,
        pages=len(given.pool),
        rows=len(table),
        mixes=mixes,
        isa=isa,
    )
    firsts = np.cumsum([0, *counts])[:-1].tolist()
    kept, new = [], []
    for first, (start, more), pages in zip(firsts, case.sequences, given.pages, strict=True):
        kept.append((range(first, first + start), (0, start, pages)))
        new.append((range(first + start, first + start + more), (start, more, pages)))
    if any(tokens for tokens, _ in kept):
        kernel.step([t for tokens, _ in kept for t in tokens], [s for _, s in kept if s[1]], False)
    out = kernel.step([t for tokens, _ in new for t in tokens], [s for _, s in new], True)
    kernel.close()
    return out.reshape(given.queries.shape).astype(np.float64)


@pytest.mark.parametrize("mixes", [0, 10_000], ids=["rows a thread", "segments a thread"])
@pytest.mark.parametrize("isa", load().available())
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_native_kernels_attend_as_float64_does(case: Case, isa: str, mixes: int) -> None:
    given = batch(case)
    limit = case.tolerance * case.size
    np.testing.assert_allclose(attended(given, isa, mixes), truth(given), rtol=0, atol=limit)
