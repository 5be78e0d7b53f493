"""The graph's weights as float32, dequantised once.

Matrices that read the same vector are stacked into one, so that a step makes
fewer and larger products. All lie in one allocation: numpy asks the kernel for
huge pages only for large ones, and reading is a fifth faster with them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np

from apps.engine.model import Model
from apps.engine.quant import F32
from apps.engine.tensor import Tensor

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Layer:
    """One block. Shapes: w = width, h = heads x head, k = KV heads x head, f = feed forward."""

    attention_norm: F32  # [w]
    qkv: F32  # [h + 2 k, w]
    output: F32  # [w, h]
    feed_norm: F32  # [w]
    gate_up: F32  # [2 f, w]
    down: F32  # [w, f]


@dataclass(frozen=True)
class Weights:
    """All blocks, and the first and the last matrix (the same array when tied)."""

    embedding: F32  # [vocabulary, w]
    layers: tuple[Layer, ...]
    norm: F32  # [w]
    head: F32  # [vocabulary, w]
    bytes: int  # memory of all of them, each counted once


class _Arena:
    """One allocation, handed out from its start."""

    def __init__(self, count: int) -> None:
        self.whole: F32 = np.empty(count, np.float32)
        self._used = 0

    def stack(self, tensors: list[Tensor]) -> F32:
        """The tensors' values, one below the other."""
        first = self._used
        for tensor in tensors:
            begin, self._used = self._used, self._used + prod(tensor.shape)
            tensor.read(self.whole[begin : self._used].reshape(tensor.shape))
        return self.whole[first : self._used].reshape(-1, *tensors[0].shape[1:])


def load_weights(model: Model, progress: Progress) -> Weights:
    """Dequantise every tensor; `progress` gets a line for each sixth part of the blocks."""
    tensors, count = model.file.tensors, model.config.layers
    arena = _Arena(sum(prod(tensor.shape) for tensor in tensors.values()))

    def stack(*names: str) -> F32:
        return arena.stack([tensors[f"{name}.weight"] for name in names])

    progress("reading the embedding")
    embedding = stack("token_embd")
    layers = []
    for number in range(count):
        if number % max(1, count // 6) == 0:
            progress(f"reading block {number + 1} of {count}")
        layers.append(_layer(stack, f"blk.{number}."))
    norm = stack("output_norm")
    head = embedding if model.tied else stack("output")
    return Weights(embedding, tuple(layers), norm, head, arena.whole.nbytes)


def _layer(stack: Callable[..., F32], block: str) -> Layer:
    return Layer(
        attention_norm=stack(block + "attn_norm"),
        qkv=stack(block + "attn_q", block + "attn_k", block + "attn_v"),
        output=stack(block + "attn_output"),
        feed_norm=stack(block + "ffn_norm"),
        gate_up=stack(block + "ffn_gate", block + "ffn_up"),
        down=stack(block + "ffn_down"),
    )
