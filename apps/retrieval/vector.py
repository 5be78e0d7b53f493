"""Vectors on their way to and from pgvector, in its binary form: exact, and short to parse.

Binary form: dimensions (u16), zero (u16), then float32 values, all big-endian.
"""

import struct
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg.adapt import Buffer, Dumper
from psycopg.pq import Format

F32 = NDArray[np.float32]
# How far a vector's length may be from 1: what sums of 384 float32 squares can be off, and more.
UNIT_WITHIN = 1e-3


class BadVector(ValueError):
    """A vector that has no direction to compare; `str()` is one line."""


class Vector:
    """A parameter for a place in SQL that says `::pgvector.vector`; `values` is float [n]."""

    __slots__ = ("values",)

    def __init__(self, values: NDArray[np.floating[Any]]) -> None:
        self.values = values


class _VectorDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Vector) -> Buffer:
        values = np.ascontiguousarray(obj.values, dtype=">f4")
        return struct.pack(">HH", values.size, 0) + values.tobytes()


psycopg.adapters.register_dumper(Vector, _VectorDumper)


def unpacked(data: object) -> F32:
    """The float32 [n] of pgvector's binary form, as a binary cursor gives it."""
    assert isinstance(data, bytes)
    return np.frombuffer(data, dtype=">f4", offset=4).astype(np.float32)


def unit(vector: NDArray[np.floating[Any]], what: str = "the vector") -> F32:
    """`vector` at length 1, or `BadVector` if it is zero or not finite."""
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if not np.isfinite(length) or length < 1e-12:
        raise BadVector(f"{what} is zero or not finite; nothing is near or far from it")
    return (vector / np.float32(length)).astype(np.float32)
