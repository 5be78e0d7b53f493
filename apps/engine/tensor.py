"""One tensor of a GGUF file: its header, its checked place, its values."""

from dataclasses import dataclass
from math import prod
from mmap import mmap

import numpy as np

from apps.engine._cursor import Cursor
from apps.engine.quant import FORMATS, Bytes, Format

_MAX_WEIGHTS = 1 << 40
_MAX_NAME = 64


@dataclass(frozen=True)
class Header:
    """What the file says of a tensor; `offset` counts from the start of the data section."""

    name: str
    format: Format
    shape: tuple[int, ...]
    offset: int

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return prod(self.shape) // self.format.weights * self.format.bytes


@dataclass(frozen=True)
class Tensor:
    """A tensor in the mapping. `shape` is outermost first: [rows, columns] for a matrix."""

    name: str
    format: Format
    shape: tuple[int, ...]
    offset: int
    raw: Bytes


def read_header(cursor: Cursor, alignment: int) -> Header:
    """The tensor header at the cursor; refuses what no tensor can be."""
    name = cursor.string("a tensor's name", _MAX_NAME)
    what = f"tensor {name!r}"
    dimensions = cursor.scalar("I", what)
    if not 1 <= dimensions <= 4:
        raise cursor.fail(f"{what} has {dimensions} dimensions, 1 to 4 are possible")
    shape = tuple(cursor.scalar("Q", what) for _ in range(dimensions))[::-1]
    code = cursor.scalar("I", what)
    offset = cursor.scalar("Q", what)
    if code not in FORMATS:
        known = ", ".join(form.name for form in FORMATS.values())
        raise cursor.fail(f"{what} has the unsupported type code {code} (supported: {known})")
    form = FORMATS[code]
    if not 1 <= prod(shape) <= _MAX_WEIGHTS or shape[-1] % form.weights:
        raise cursor.fail(f"{what} has the impossible shape {list(shape)} for {form.name}")
    if offset % alignment:
        raise cursor.fail(f"{what} starts at {offset}, not a multiple of {alignment}")
    return Header(name, form, shape, offset)


def place(cursor: Cursor, mapping: mmap, header: Header, start: int) -> Tensor:
    """The tensor's bytes in the mapping of a file whose data section begins at `start`."""
    begin, end = start + header.offset, start + header.offset + header.size
    if end > cursor.size:
        raise cursor.fail(
            f"tensor {header.name!r} ends at byte {end}, the file at byte {cursor.size}"
        )
    raw = np.frombuffer(mapping, np.uint8, header.size, begin)
    return Tensor(header.name, header.format, header.shape, begin, raw)
