"""Tensor formats of a GGUF file, and their values as float32.

A block format stores 32 consecutive weights of a row with one scale (source: the
ggml project's `ggml-common.h`). Four-bit values: the low nibbles of the 16 bytes
are weights 0-15, the high nibbles are weights 16-31.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

BLOCK = 32
_Q4_0 = np.dtype([("scale", "<f2"), ("q", "u1", (16,))])
_Q4_1 = np.dtype([("scale", "<f2"), ("minimum", "<f2"), ("q", "u1", (16,))])
_Q8_0 = np.dtype([("scale", "<f2"), ("q", "i1", (32,))])


def _nibbles(q: Bytes, out: F32) -> None:
    np.bitwise_and(q, 15, out=out[:, :16])
    np.right_shift(q, 4, out=out[:, 16:])


def _from_q4_0(raw: Bytes, out: F32) -> None:
    blocks = raw.view(_Q4_0)
    _nibbles(blocks["q"], out)
    out -= 8
    out *= blocks["scale"].astype(np.float32)[:, None]


def _from_q4_1(raw: Bytes, out: F32) -> None:
    blocks = raw.view(_Q4_1)
    _nibbles(blocks["q"], out)
    out *= blocks["scale"].astype(np.float32)[:, None]
    out += blocks["minimum"].astype(np.float32)[:, None]


def _from_q8_0(raw: Bytes, out: F32) -> None:
    blocks = raw.view(_Q8_0)
    np.multiply(blocks["q"], blocks["scale"].astype(np.float32)[:, None], out=out)


def _from_plain(kind: str) -> Callable[[Bytes, F32], None]:
    def convert(raw: Bytes, out: F32) -> None:
        out[:] = raw.view(kind).reshape(out.shape)

    return convert


@dataclass(frozen=True)
class Format:
    """`weights` values take `bytes` bytes; `convert(raw, out)` fills out [n, weights]."""

    name: str
    weights: int
    bytes: int
    convert: Callable[[Bytes, F32], None]


# By the file's type code.
FORMATS = {
    0: Format("F32", 1, 4, _from_plain("<f4")),
    1: Format("F16", 1, 2, _from_plain("<f2")),
    2: Format("Q4_0", BLOCK, _Q4_0.itemsize, _from_q4_0),
    3: Format("Q4_1", BLOCK, _Q4_1.itemsize, _from_q4_1),
    8: Format("Q8_0", BLOCK, _Q8_0.itemsize, _from_q8_0),
}
