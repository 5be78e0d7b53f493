"""Bounded, little-endian reads of a GGUF header."""

import os
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from apps.engine._strings import split
from apps.engine.errors import BadArtefact

Value = int | float | bool | str | list[str] | npt.NDArray[Any]

_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_BOOL, _STRING, _ARRAY = 7, 8, 9
_MAX_STRING = 1 << 20
_MAX_ARRAY = 1 << 20
_WINDOW = 1 << 21
_USUAL_STRING = 32  # bytes that a string of an array takes, its length included


class Cursor:
    """A position in a file of `size` bytes; every read is checked against its end.

    It reads the file and not a mapping of it: a mapping whose file shrinks ends the process.

    Errors: `BadArtefact`, naming what was being read and where.
    """

    def __init__(self, descriptor: int, size: int, path: str) -> None:
        self._descriptor = descriptor
        self._path = path
        self._window = b""
        self._begin = 0  # of the window in the file
        self.at = 0
        self.size = size

    def fail(self, complaint: str) -> BadArtefact:
        return BadArtefact(f"{self._path}: {complaint}; fetch the file again from its source")

    def take(self, count: int, what: str) -> bytes:
        left = self.size - self.at
        if count > left:
            raise self.fail(f"{what} needs {count} bytes at {self.at}, the file has {left} left")
        first = self.at - self._begin
        if first + count > len(self._window):
            self._read(count, what)
            first = 0
        self.at += count
        return self._window[first : first + count]

    def scalar(self, code: str, what: str) -> Any:
        """One number of a `struct` format code."""
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code), what))[0]

    def string(self, what: str, limit: int = _MAX_STRING) -> str:
        length = self.scalar("Q", what)
        if length > limit:
            raise self.fail(f"{what} claims {length} bytes, the limit is {limit}")
        try:
            return self.take(length, what).decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.fail(f"{what} is not UTF-8 ({error.reason})") from None

    def value(self, what: str) -> Value:
        """One typed metadata value: a scalar, a string, or a flat array of either."""
        kind = self.scalar("I", what)
        if kind == _STRING:
            return self.string(what)
        if kind == _ARRAY:
            return self._array(what)
        result: Value = self._numbers(kind, 1, what)[0].item()
        return result

    def _array(self, what: str) -> list[str] | npt.NDArray[Any]:
        kind, count = self.scalar("I", what), self.scalar("Q", what)
        if count > _MAX_ARRAY:
            raise self.fail(f"{what} claims {count} values, the limit is {_MAX_ARRAY}")
        return self._strings(count, what) if kind == _STRING else self._numbers(kind, count, what)

    def _numbers(self, kind: int, count: int, what: str) -> npt.NDArray[Any]:
        if kind not in _SCALARS:
            raise self.fail(f"{what} has the unknown value type {kind}")
        code = "<" + _SCALARS[kind]
        data = self.take(struct.calcsize(code) * count, what)
        if kind == _BOOL and data.strip(b"\0\1"):
            raise self.fail(f"{what} is neither true nor false")
        return np.frombuffer(data, code)

    def _strings(self, count: int, what: str) -> list[str]:
        begin = self.at
        if count:
            guess = min(count * _USUAL_STRING, self.size - begin)
            found = split(self.take(guess, what), count)
            self.at = begin
            if found:
                self.at += found[1]
                return found[0]
        return [self.string(f"{what}, value {number}") for number in range(count)]

    def _read(self, count: int, what: str) -> None:
        """Bring `count` bytes at the position, and some that follow, into the window."""
        wanted = min(max(count, _WINDOW), self.size - self.at)
        self._begin, self._window = self.at, os.pread(self._descriptor, wanted, self.at)
        if len(self._window) < count:
            raise self.fail(f"the file shrank while {what} was read")
