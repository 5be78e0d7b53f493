"""Tensor formats of a GGUF file.

A block format stores 32 consecutive weights of a row with one scale (source: the
ggml project's `ggml-common.h`). Four-bit values: the low nibbles of the 16 bytes
are weights 0-15, the high nibbles are weights 16-31. Only native/ reads them.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]

BLOCK = 32


@dataclass(frozen=True)
class Format:
    """`weights` values take `bytes` bytes."""

    name: str
    weights: int
    bytes: int


# By the file's type code.
FORMATS = {
    0: Format("F32", 1, 4),
    1: Format("F16", 1, 2),
    2: Format("Q4_0", BLOCK, 2 + 16),  # scale, nibbles
    3: Format("Q4_1", BLOCK, 4 + 16),  # scale, minimum, nibbles
    8: Format("Q8_0", BLOCK, 2 + 32),  # scale, int8
}
