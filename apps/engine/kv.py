"""The keys and values that attention has already seen, of one sequence."""

import numpy as np

from apps.engine.config import Config
from apps.engine.quant import F32


class Cache:
    """Room for `capacity` positions, `length` of them filled; float32 on the CPU.

    Arrays are [layers, KV heads, capacity, head]; the memory is taken when written.
    """

    def __init__(self, config: Config, capacity: int) -> None:
        shape = (config.layers, config.kv_heads, capacity, config.head)
        self._keys = np.empty(shape, np.float32)
        self._values = np.empty(shape, np.float32)
        self.capacity = capacity
        self.length = 0

    @property
    def bytes(self) -> int:
        return self._keys.nbytes + self._values.nbytes

    def put(self, layer: int, keys: F32, values: F32) -> tuple[F32, F32]:
        """Write [tokens, KV heads, head] after `length`; give all up to there.

        The result is two views [KV heads, length + tokens, head]. `advance` moves
        `length` once every layer has been written.
        """
        end = self.length + len(keys)
        self._keys[layer, :, self.length : end] = keys.transpose(1, 0, 2)
        self._values[layer, :, self.length : end] = values.transpose(1, 0, 2)
        return self._keys[layer, :, :end], self._values[layer, :, :end]

    def advance(self, tokens: int) -> None:
        self.length += tokens

    def copy_from(self, other: "Cache") -> None:
        """Begin with the positions of `other`."""
        self.length = other.length
        self._keys[:, :, : self.length] = other._keys[:, :, : self.length]
        self._values[:, :, : self.length] = other._values[:, :, : self.length]
