"""Causal attention over a paged KV cache, as a kernel in the Triton language.

The algorithm of the CPU's kernel: blocks of keys one after another with an online softmax
(Milakov and Gimelshein, 2018; Dao et al., FlashAttention, 2022), never a square of the context.
One program computes a tile of queries of one sequence for one KV head; the query heads that share
that KV head are rows of the same tile, so decoding reads each key once, too.
"""

from typing import Any

import triton
import triton.language as tl

from apps.engine.errors import BadRequest
from apps.engine.ranges import marked

PAGE = 16
_LOG2_E = 1.4426950408889634
# Rows of a tile and positions of a block; tl.dot wants 16 or more of each.
_DECODE_ROWS = 16
_PREFILL_ROWS = 64
_POSITIONS = 64


@triton.jit  # type: ignore[untyped-decorator]
def _attention(  # type: ignore[no-untyped-def]
    queries, pool, tables, firsts, starts, out,
    table_width, scale,
    GROUP: tl.constexpr, HEAD: tl.constexpr, PAGE: tl.constexpr,
    ROWS: tl.constexpr, POSITIONS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    tile, kv_head, sequence = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    kv_heads = tl.num_programs(1)
    first = tl.load(firsts + sequence)
    count = tl.load(firsts + sequence + 1) - first
    start = tl.load(starts + sequence)
    if tile * ROWS >= count * GROUP:
        return

    # A row is one query of one head; rows past the last query repeat it and are not stored.
    row = tile * ROWS + tl.arange(0, ROWS)
    query = tl.minimum(row // GROUP, count - 1)
    width = tl.arange(0, WIDTH)
    place = ((first + query) * kv_heads + kv_head) * GROUP + row % GROUP
    cell = place.to(tl.int64)[:, None] * HEAD + width[None, :]
    inside = width < HEAD
    q = tl.load(queries + cell, mask=inside[None, :], other=0.0)

    highest = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    mixed = tl.zeros([ROWS, WIDTH], tl.float32)
    last = tl.minimum((tile * ROWS + ROWS - 1) // GROUP, count - 1)
    end = start + last + 1
    for begin in range(0, end, POSITIONS):
        position = begin + tl.arange(0, POSITIONS)
        known = position < end
        page = tl.load(tables + sequence * table_width + position // PAGE, mask=known, other=0)
        base = (page.to(tl.int64) * kv_heads + kv_head) * (2 * HEAD * PAGE)
        cells = base[None, :] + width[:, None] * PAGE + (position % PAGE)[None, :]
        k = tl.load(pool + cells, mask=known[None, :] & inside[:, None], other=0.0)
        scores = tl.dot(q, k.to(q.dtype), input_precision="ieee") * scale
        visible = position[None, :] <= (start + query)[:, None]
        scores = tl.where(visible, scores, float("-inf"))
        # Position 0 lies in the first block and every query sees it: `peak` is a number.
        peak = tl.maximum(highest, tl.max(scores, 1))
        weights = tl.exp2(scores - peak[:, None])
        shrink = tl.exp2(highest - peak)
        cells = (base + HEAD * PAGE + position % PAGE * HEAD)[:, None] + width[None, :]
        v = tl.load(pool + cells, mask=known[:, None] & inside[None, :], other=0.0)
        mixed = mixed * shrink[:, None]
        mixed += tl.dot(weights.to(q.dtype), v.to(q.dtype), input_precision="ieee")
        total = total * shrink + tl.sum(weights, 1)
        highest = peak
    mixed = mixed / total[:, None]
    stored = (row < count * GROUP)[:, None] & inside[None, :]
    tl.store(out + cell, mixed.to(out.dtype.element_ty), mask=stored)


def attend(
    queries: Any, pool: Any, tables: Any, firsts: Any, starts: Any, out: Any, *, longest: int
) -> None:
    """Attention of a ragged batch, each query over its own sequence up to its own position.

    The tensors are C-contiguous, lie on one device and look like torch's:
    `queries` and `out` [queries, heads, head], float32 (exact products) or float16 (tensor cores);
    `pool` [pages, KV heads, 2 x head x PAGE], keys [head, PAGE] then values [PAGE, head], float16;
    `tables` [sequences, pages of the longest], the pages of each sequence in order, int32;
    `firsts` [sequences + 1]: sequence i has the queries firsts[i] … firsts[i + 1] - 1, int32;
    `starts` [sequences]: the position of its first query, int32.
    `longest` is the most queries of one sequence. Errors: `BadRequest` names the tensor.
    """
    count, heads, head = _sizes("queries", queries, 3)
    pages, kv_heads, _ = _sizes("pool", pool, 3)
    sequences, table_width = _sizes("tables", tables, 2)
    if heads % kv_heads:
        raise BadRequest(f"attention: {heads} query heads do not share {kv_heads} KV heads evenly")
    _check("queries", queries, (count, heads, head), "float32", "float16")
    _check("pool", pool, (pages, kv_heads, 2 * head * PAGE), "float16")
    _check("tables", tables, (sequences, table_width), "int32")
    _check("firsts", firsts, (sequences + 1,), "int32")
    _check("starts", starts, (sequences,), "int32")
    _check("out", out, (count, heads, head), "float32", "float16")
    given = {"pool": pool, "tables": tables, "firsts": firsts, "starts": starts, "out": out}
    for name, tensor in {"queries": queries, **given}.items():
        _check_place(name, tensor, queries.device)
    group = heads // kv_heads
    rows = _DECODE_ROWS if longest * group <= _DECODE_ROWS else _PREFILL_ROWS
    grid = (triton.cdiv(longest * group, rows), kv_heads, sequences)
    with marked("attention"):
        _attention[grid](
            queries, pool, tables, firsts, starts, out,
            table_width, head**-0.5 * _LOG2_E,
            GROUP=group, HEAD=head, PAGE=PAGE,
            ROWS=rows, POSITIONS=_POSITIONS, WIDTH=max(16, triton.next_power_of_2(head)),
        )  # fmt: skip


def _sizes(name: str, tensor: Any, rank: int) -> tuple[int, ...]:
    sizes = tuple(tensor.shape)
    if len(sizes) != rank:
        raise BadRequest(
            f"attention: {name} is {_kind(tensor)} {list(sizes)}, expected {rank} dimensions"
        )
    return sizes


def _kind(tensor: Any) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def _check(name: str, tensor: Any, shape: tuple[int, ...], *kinds: str) -> None:
    kind = _kind(tensor)
    if tuple(tensor.shape) != shape or kind not in kinds:
        raise BadRequest(
            f"attention: {name} is {kind} {list(tensor.shape)},"
            f" expected {' or '.join(kinds)} {list(shape)}"
        )


def _check_place(name: str, tensor: Any, device: Any) -> None:
    if tensor.device != device or not tensor.is_contiguous():
        order = "contiguous" if tensor.is_contiguous() else "strided"
        raise BadRequest(
            f"attention: {name} is {order} on {tensor.device}, expected contiguous on {device}"
        )
