"""Bounded, little-endian reads from a mapped GGUF header."""

import mmap
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.engine.errors import BadArtefact

Value = int | float | bool | str | list[Any]

_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9
_MAX_STRING = 1 << 20


class Cursor:
    """A position in a mapped file; every read is checked against the file's end.

    Errors: `BadArtefact`, naming what was being read and where.
    """

    def __init__(self, data: mmap.mmap, path: str) -> None:
        self._data = data
        self._path = path
        self.at = 0
        self.size = len(data)

    def fail(self, complaint: str) -> BadArtefact:
        return BadArtefact(f"{self._path}: {complaint}; fetch the file again from its source")

    def take(self, count: int, what: str) -> bytes:
        self._need(count, what)
        self.at += count
        return self._data[self.at - count : self.at]

    def scalar(self, code: str, what: str) -> Any:
        """One number of a `struct` format code."""
        size = struct.calcsize("<" + code)
        self._need(size, what)
        self.at += size
        return struct.unpack_from("<" + code, self._data, self.at - size)[0]

    def string(self, what: str) -> str:
        length = self.scalar("Q", what)
        if length > _MAX_STRING:
            raise self.fail(f"{what} claims {length} bytes, the limit is {_MAX_STRING}")
        try:
            return self.take(length, what).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fail(f"{what} is not UTF-8 ({error.reason})") from None

    def bytes_at(self, offset: int, size: int) -> npt.NDArray[np.uint8]:
        """A view of bytes that the caller has checked to lie within `size`; keeps the map alive."""
        return np.frombuffer(self._data, np.uint8, size, offset)

    def value(self, what: str) -> Value:
        """One typed metadata value: a scalar, a string, or a flat array of either."""
        kind = self.scalar("I", what)
        if kind == _STRING:
            return self.string(what)
        if kind == _ARRAY:
            return self._array(what)
        result: Value = self.scalar(self._code(kind, what), what)
        return result

    def _array(self, what: str) -> list[Any]:
        kind, count = self.scalar("I", what), self.scalar("Q", what)
        if kind == _STRING:
            self._need(8 * count, what)
            return [self.string(what) for _ in range(count)]
        code = self._code(kind, what)
        raw = self.take(struct.calcsize(code) * count, what)
        return list(struct.unpack(f"<{count}{code}", raw))

    def _code(self, kind: int, what: str) -> str:
        if kind not in _SCALARS:
            raise self.fail(f"{what} has the unknown value type {kind}")
        return _SCALARS[kind]

    def _need(self, count: int, what: str) -> None:
        left = self.size - self.at
        if count > left:
            raise self.fail(f"{what} needs {count} bytes at {self.at}, the file has {left} left")
