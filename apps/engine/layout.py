"""Where the tensors of a file lie: one after the other, and nothing else."""

from collections.abc import Iterable
from mmap import mmap

from apps.engine._cursor import Cursor
from apps.engine.tensor import Header, Tensor, place, read_header


def read_headers(cursor: Cursor, count: int, alignment: int) -> dict[str, Header]:
    """The headers at the cursor, by name."""
    headers: dict[str, Header] = {}
    for _ in range(count):
        header = read_header(cursor, alignment)
        if header.name in headers:
            raise cursor.fail(f"tensor {header.name!r} is there twice")
        headers[header.name] = header
    return headers


def place_all(
    cursor: Cursor, mapping: mmap, headers: dict[str, Header], alignment: int
) -> dict[str, Tensor]:
    """The tensors in the mapping; the cursor stands after the last header."""
    start = _round(cursor.at, alignment)
    tensors = {name: place(cursor, mapping, header, start) for name, header in headers.items()}
    _check_order(cursor, tensors.values(), start, alignment)
    return tensors


def _check_order(cursor: Cursor, tensors: Iterable[Tensor], start: int, alignment: int) -> None:
    """The tensors follow one another with nothing between them, nor after them."""
    at, last = start, "the header"
    for tensor in sorted(tensors, key=lambda tensor: tensor.offset):
        name = f"tensor {tensor.name!r}"
        if tensor.offset < at:
            raise cursor.fail(f"{name} overlaps {last}")
        if tensor.offset > at:
            raise cursor.fail(f"{name} leaves {tensor.offset - at} bytes after {last}")
        at, last = _round(at + tensor.raw.size, alignment), name
    if cursor.size > at:
        raise cursor.fail(f"{cursor.size - at} bytes follow {last}, which is the last")


def _round(count: int, alignment: int) -> int:
    return -(-count // alignment) * alignment
