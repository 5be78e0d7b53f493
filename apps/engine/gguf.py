"""GGUF version 3: a strict reader over one memory-mapped file.

    magic  version  tensor count  metadata count
    metadata: (key, type, value) …
    tensors:  (name, dimensions, shape innermost first, type code, offset) …
    padding to `general.alignment`, then the tensors' bytes

Source: the ggml project's `docs/gguf.md`. Nothing is used before it was checked:
every tensor's type, shape, alignment, bounds and overlap with its neighbours.
"""

import mmap
from itertools import pairwise
from os import PathLike, fspath
from typing import TypeVar

from apps.engine._cursor import Cursor, Value
from apps.engine.errors import BadArtefact
from apps.engine.tensor import Header, Tensor, place, read_header

_VERSION = 3
_MAX_COUNT = 1 << 16

T = TypeVar("T", int, float, str, bool)


class Gguf:
    """One open file: `metadata` by key and `tensors` by name.

    Errors: `BadArtefact` names the key or tensor that is wrong.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = fspath(path)
        cursor = Cursor(_map(self.path), self.path)
        if cursor.take(4, "the magic") != b"GGUF":
            raise BadArtefact(f"{self.path}: not a GGUF file; give the path of a .gguf model")
        version = cursor.scalar("I", "the version")
        if version != _VERSION:
            raise cursor.fail(f"GGUF version {version}, supported is {_VERSION}")
        counts = [cursor.scalar("Q", what) for what in ("the tensor count", "the metadata count")]
        if max(counts) > _MAX_COUNT:
            raise cursor.fail(f"{max(counts)} tensors or metadata, the limit is {_MAX_COUNT}")
        self.metadata = _metadata(cursor, counts[1])
        self.tensors = self._tensors(cursor, counts[0])

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
        values = self.metadata.get(key)
        if not isinstance(values, list) or any(type(value) is not kind for value in values):
            raise BadArtefact(
                f"{self.path}: metadata {key!r} is not an array of {kind.__name__};"
                " use a model converted by a current tool"
            )
        return values

    def _tensors(self, cursor: Cursor, count: int) -> dict[str, Tensor]:
        alignment = self.get("general.alignment", int, 32)
        if alignment not in (1 << n for n in range(3, 17)):
            raise cursor.fail(f"general.alignment is {alignment}, not a power of two in 8-65536")
        headers: dict[str, Header] = {}
        for _ in range(count):
            header = read_header(cursor, alignment)
            if header.name in headers:
                raise cursor.fail(f"tensor {header.name!r} is there twice")
            headers[header.name] = header
        start = -(-cursor.at // alignment) * alignment
        tensors = {name: place(cursor, header, start) for name, header in headers.items()}
        ordered = sorted(tensors.values(), key=lambda tensor: tensor.offset)
        for before, after in pairwise(ordered):
            if before.offset + before.raw.size > after.offset:
                raise cursor.fail(f"tensor {after.name!r} overlaps tensor {before.name!r}")
        return tensors


def _map(path: str) -> mmap.mmap:
    try:
        with open(path, "rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "the file is empty"
        raise BadArtefact(f"{path}: {reason}; give the path of a .gguf model") from None


def _metadata(cursor: Cursor, count: int) -> dict[str, Value]:
    metadata: dict[str, Value] = {}
    for number in range(count):
        key = cursor.string(f"the key of metadata {number}")
        if key in metadata:
            raise cursor.fail(f"metadata {key!r} is there twice")
        metadata[key] = cursor.value(f"metadata {key!r}")
    return metadata
