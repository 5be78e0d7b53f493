"""GGUF version 3: a strict reader over one memory-mapped file.

    magic  version  tensor count  metadata count
    metadata: (key, type, value) …
    tensors:  (name, dimensions, shape innermost first, type code, offset) …
    padding to `general.alignment`, then the tensors' bytes

Source: the ggml project's `docs/gguf.md`. Nothing is used before it was checked:
every tensor's type, shape, alignment, bounds and overlap with its neighbours.
"""

import mmap
import os
import stat
from os import PathLike, fspath
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from apps.engine._cursor import Cursor, Value
from apps.engine.digest import Digest
from apps.engine.errors import BadArtefact
from apps.engine.layout import place_all, read_headers

_VERSION = 3
_MAX_COUNT = 1 << 16
_MAX_KEY = 256
_NUMBERS = {"int": "iu", "float": "f"}

T = TypeVar("T", int, float, str, bool)


class Check(Protocol):
    """What must hold of the open file before anything in it is read."""

    def __call__(self, descriptor: int, path: str) -> Digest: ...


class Gguf:
    """One open file: `metadata` by key and `tensors` by name, which lie in `mapping`.

    `check` sees the descriptor that is then read and mapped: no second look by name. What
    it found is `digest`, which is None without a check.

    Errors: `BadArtefact` names the key or tensor that is wrong.
    """

    def __init__(self, path: str | PathLike[str], check: Check | None = None) -> None:
        self.path = fspath(path)
        descriptor = _open(self.path)
        try:
            before = self._state = os.fstat(descriptor)
            self.digest = check(descriptor, self.path) if check else None
            self._read(descriptor, before.st_size)
            if _moment(before) != _moment(os.fstat(descriptor)):
                raise BadArtefact(
                    f"{self.path}: the file changed while it was read; let its writer finish first"
                )
        finally:
            os.close(descriptor)

    @property
    def identity(self) -> bytes:
        """The file's SHA3-512 if it was computed, else the name of its place and last change."""
        if self.digest:
            return self.digest.value
        state = self._state
        return repr((state.st_dev, state.st_ino, *_moment(state))).encode()

    def get(self, key: str, kind: type[T], default: T | None = None) -> T:
        """The metadata value of `key`, which must be of `kind`."""
        value = self.metadata.get(key, default)
        if type(value) is not kind:
            have = "is missing" if value is None else f"is of type {type(value).__name__}"
            raise BadArtefact(
                f"{self.path}: metadata {key!r} {have}, a {kind.__name__} is needed;"
                " use a model converted by a current tool"
            )
        return value

    def get_list(self, key: str, kind: type[T]) -> list[T]:
        """The metadata array of `key`, whose values must be of `kind`."""
        values: Any = self.metadata.get(key)
        if isinstance(values, np.ndarray):
            values = values.tolist()
        # An array has values of one type.
        if not isinstance(values, list) or any(type(value) is not kind for value in values[:1]):
            raise self._no_array(key, kind.__name__)
        found: list[T] = values
        return found

    def get_numbers(self, key: str, kind: Literal["int", "float"]) -> npt.NDArray[Any]:
        """The metadata array of `key` as it is in the file."""
        values = self.metadata.get(key)
        if not isinstance(values, np.ndarray) or values.dtype.kind not in _NUMBERS[kind]:
            raise self._no_array(key, kind)
        return values

    def _no_array(self, key: str, kind: str) -> BadArtefact:
        have = f"is not an array of {kind}" if key in self.metadata else "is missing"
        return BadArtefact(
            f"{self.path}: metadata {key!r} {have}; use a model converted by a current tool"
        )

    def _read(self, descriptor: int, size: int) -> None:
        cursor = Cursor(descriptor, size, self.path)
        if not size:
            raise BadArtefact(f"{self.path}: the file is empty; give the path of a .gguf model")
        if cursor.take(min(4, size), "the magic") != b"GGUF":
            raise BadArtefact(f"{self.path}: not a GGUF file; give the path of a .gguf model")
        version = cursor.scalar("I", "the version")
        if version != _VERSION:
            raise cursor.fail(f"GGUF version {version}, supported is {_VERSION}")
        counts = [cursor.scalar("Q", what) for what in ("the tensor count", "the metadata count")]
        if max(counts) > _MAX_COUNT:
            raise cursor.fail(f"{max(counts)} tensors or metadata, the limit is {_MAX_COUNT}")
        self.metadata = _metadata(cursor, counts[1])
        alignment = self.get("general.alignment", int, 32)
        if alignment not in (1 << n for n in range(3, 17)):
            raise cursor.fail(f"general.alignment is {alignment}, not a power of two in 8-65536")
        headers = read_headers(cursor, counts[0], alignment)
        self.mapping = self._map(descriptor, size)
        self.tensors = place_all(cursor, self.mapping, headers, alignment)

    def _map(self, descriptor: int, size: int) -> mmap.mmap:
        try:
            return mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise BadArtefact(
                f"{self.path}: {size} bytes cannot be mapped ({error}); let the file's writer"
                " finish first"
            ) from None


def _open(path: str) -> int:
    try:
        # Not to wait for the writer of a pipe: it is refused anyway.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadArtefact(f"{path}: {reason}; give the path of a .gguf model") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadArtefact(f"{path}: not a regular file; give the path of a .gguf model")
    return descriptor


def _moment(state: os.stat_result) -> tuple[int, int]:
    return state.st_size, state.st_mtime_ns


def _metadata(cursor: Cursor, count: int) -> dict[str, Value]:
    metadata: dict[str, Value] = {}
    for number in range(count):
        key = cursor.string(f"the key of metadata {number}", _MAX_KEY)
        if key in metadata:
            raise cursor.fail(f"metadata {key!r} is there twice")
        metadata[key] = cursor.value(f"metadata {key!r}")
    return metadata
