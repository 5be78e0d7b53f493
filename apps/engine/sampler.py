"""The choice of the next token from the logits."""

import numpy as np

from apps.engine.errors import BadLogits, BadRequest
from apps.engine.quant import F32


class Sampler:
    """Temperature 0 takes the most likely token; above 0 it draws, the same for the same seed."""

    def __init__(self, temperature: float = 0.0, seed: int = 0) -> None:
        if not 0 <= temperature <= 10:
            raise BadRequest(f"temperature is {temperature}; choose one from 0 to 10")
        self._temperature = temperature
        self._random = np.random.default_rng(seed)

    def choose(self, logits: F32) -> int:
        """The token id for logits [vocabulary]. Errors: `BadLogits` if one is not finite."""
        if not np.isfinite(logits).all():
            raise BadLogits("the logits are not finite; check the model file (inspect)")
        if self._temperature == 0:
            return int(logits.argmax())
        # The largest of logits / T + Gumbel noise is a draw from the softmax.
        noise = self._random.gumbel(size=logits.shape)
        return int((logits / self._temperature + noise).argmax())
