"""The Llama graph: tokens in, logits out, keys and values kept in a cache.

Source: Touvron et al., LLaMA, 2023 (pre-norm RMSNorm, SwiGLU, rotary positions),
with grouped queries (Ainslie et al., GQA, 2023).
"""

from collections.abc import Sequence

import numpy as np

from apps.engine.attention import attend
from apps.engine.config import Config
from apps.engine.kv import Cache
from apps.engine.quant import F32
from apps.engine.rope import Rope
from apps.engine.weights import Layer, Weights


class Graph:
    """The computation over one set of weights; it keeps no state of a sequence."""

    def __init__(self, config: Config, weights: Weights, positions: int) -> None:
        self._config = config
        self._weights = weights
        self._rope = Rope(config.head, config.rope_base, positions)

    def forward(self, tokens: Sequence[int], cache: Cache, *, every: bool = False) -> F32:
        """Logits [1, vocabulary] after the last token, or of `every` token [n, vocabulary].

        The tokens stand after the cache's; the cache must have room for them.
        """
        x = self._weights.embedding[np.asarray(tokens)]
        # exp overflows to infinity for a very negative gate: the quotient is then 0, as it should.
        with np.errstate(over="ignore"):
            for number, layer in enumerate(self._weights.layers):
                x = x + self._attention(layer, number, x, cache)
                x = x + self._feed_forward(layer, x)
        cache.advance(len(tokens))
        last = x if every else x[-1:]
        return self._norm(last, self._weights.norm) @ self._weights.head.T

    def _attention(self, layer: Layer, number: int, x: F32, cache: Cache) -> F32:
        sizes = self._config
        mixed = self._norm(x, layer.attention_norm) @ layer.qkv.T
        heads = mixed.reshape(len(x), sizes.heads + 2 * sizes.kv_heads, sizes.head)
        turned = self._rope.turn(heads[:, : -sizes.kv_heads], cache.length)
        queries, keys = turned[:, : sizes.heads], turned[:, sizes.heads :]
        seen = cache.put(number, keys, heads[:, -sizes.kv_heads :])
        return attend(queries, *seen) @ layer.output.T

    def _feed_forward(self, layer: Layer, x: F32) -> F32:
        gate_up = self._norm(x, layer.feed_norm) @ layer.gate_up.T
        gate, up = gate_up[:, : gate_up.shape[1] // 2], gate_up[:, gate_up.shape[1] // 2 :]
        down: F32 = (gate / (1 + np.exp(-gate)) * up) @ layer.down.T
        return down

    def _norm(self, x: F32, weight: F32) -> F32:
        mean = np.einsum("tw,tw->t", x, x)[:, None] / np.float32(self._config.width)
        normed: F32 = x / np.sqrt(mean + np.float32(self._config.epsilon)) * weight
        return normed
