"""Weights as their files have them, and what the graph asks of a file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

BLOCK = 32
F32 = NDArray[np.float32]


@dataclass(frozen=True)
class Shape:
    """The sizes of the network."""

    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float


@dataclass(frozen=True)
class Blocks:
    """A 4-bit matrix: nibbles u8 [out, in/32, 16] with weights 2j and 2j + 1 in byte j (low half
    first), scales f32 [out, in/32]."""

    nibbles: NDArray[np.uint8]
    scales: F32

    def weights(self) -> F32:
        """The weights as f32 [out, in]."""
        both = np.stack([self.nibbles & 15, self.nibbles >> 4], axis=-1)
        values = both.reshape(*self.scales.shape, BLOCK).astype(np.float32) - 8
        weights: F32 = values * self.scales[..., None]
        return weights.reshape(len(weights), -1)

    @classmethod
    def joined(cls, parts: "Sequence[Blocks]") -> "Blocks":
        """The rows of all, one after the other."""
        return cls(
            np.concatenate([part.nibbles for part in parts]),
            np.concatenate([part.scales for part in parts]),
        )


@dataclass(frozen=True)
class Floats:
    """A float32 matrix [out, in]."""

    values: F32

    def weights(self) -> F32:
        """The same."""
        return self.values


Matrix = Blocks | Floats


class Source(Protocol):
    """A file with the weights of a BERT encoder.

    Tensors are `emb.{word,pos,type,ln.w,ln.b}` and, in layer i, `l{i}.{q,k,v,ao,fi,fo}.{w,b}`
    (query, key, value, attention's output, feed-forward in and out) and `l{i}.{aln,oln}.{w,b}`
    (the layer norms after attention and after feed-forward). Errors: `BadModel`.
    """

    shape: Shape

    def floats(self, name: str) -> F32:
        """A float32 tensor, flat."""

    def matrix(self, name: str, rows: int) -> Matrix:
        """A matrix of so many rows."""
