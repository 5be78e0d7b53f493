"""The graph's weights as float32, dequantised once.

Matrices that read the same vector are stacked into one, so that a step makes
fewer and larger products.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from apps.engine.model import Model
from apps.engine.quant import F32

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

    @property
    def bytes(self) -> int:
        """Memory of all arrays, each counted once."""
        arrays = {id(array): array.nbytes for array in self._arrays()}
        return sum(arrays.values())

    def _arrays(self) -> Iterator[F32]:
        yield from (self.embedding, self.norm, self.head)
        for layer in self.layers:
            yield from vars(layer).values()


def load_weights(model: Model, progress: Progress) -> Weights:
    """Dequantise every tensor; `progress` gets a line for each sixth part of the blocks."""
    progress("reading the embedding")
    embedding = _stack(model, "token_embd.weight")
    count, layers = model.config.layers, []
    for number in range(count):
        if number % max(1, count // 6) == 0:
            progress(f"reading block {number + 1} of {count}")
        layers.append(_layer(model, number))
    return Weights(
        embedding=embedding,
        layers=tuple(layers),
        norm=_stack(model, "output_norm.weight"),
        head=embedding if model.tied else _stack(model, "output.weight"),
    )


def _layer(model: Model, number: int) -> Layer:
    def stack(*names: str) -> F32:
        return _stack(model, *(f"blk.{number}.{name}.weight" for name in names))

    return Layer(
        attention_norm=stack("attn_norm"),
        qkv=stack("attn_q", "attn_k", "attn_v"),
        output=stack("attn_output"),
        feed_norm=stack("ffn_norm"),
        gate_up=stack("ffn_gate", "ffn_up"),
        down=stack("ffn_down"),
    )


def _stack(model: Model, *names: str) -> F32:
    """The named tensors, one below the other, in one new array."""
    tensors = [model.file.tensors[name] for name in names]
    rows = [tensor.shape[0] for tensor in tensors]
    stacked = np.empty((sum(rows), *tensors[0].shape[1:]), np.float32)
    for tensor, part in zip(tensors, np.split(stacked, np.cumsum(rows)[:-1]), strict=True):
        tensor.read(part)
    return stacked
