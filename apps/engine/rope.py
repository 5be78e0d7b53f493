"""Rotary position embedding: neighbouring values as one complex number, turned by the position.

Source: Su et al., RoFormer, 2021; the interleaved pairing of GGUF's Llama graph.
"""

import numpy as np
import numpy.typing as npt

from apps.engine.quant import F32


class Rope:
    """Turns of positions 0 … `positions` - 1 for heads of width `head`."""

    def __init__(self, head: int, base: float, positions: int) -> None:
        frequencies = base ** -(np.arange(0, head, 2, dtype=np.float64) / head)
        angles = np.arange(positions)[:, None] * frequencies
        self._turns: npt.NDArray[np.complex64] = np.exp(1j * angles).astype(np.complex64)

    def turn(self, heads: F32, first: int) -> F32:
        """`heads` [tokens, heads, head], C-contiguous, the first token at position `first`."""
        turns = self._turns[first : first + len(heads), None, :]
        return (heads.view(np.complex64) * turns).view(np.float32)
