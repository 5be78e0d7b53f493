"""The choice of the next token from the logits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Protocol

import numpy as np
import numpy.typing as npt

from apps.engine.errors import BadLogits, BadRequest
from apps.engine.quant import F32

Places = npt.NDArray[np.intp]

_MAX_SEED = 1 << 64
# A smaller temperature would be 0 as a float32; both leave only the most likely.
_COLDEST = float(np.finfo(np.float32).tiny)
# Tokens e^40 times less likely than the first are never drawn.
_NEVER = np.float32(40)
_FEW = 1024


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn; the default takes the most likely one.

    In this order: `logit_bias` {token: added to its logit}; `repetition_penalty` (1: off;
    CTRL, Keskar et al., 2019) on every token of prompt and answer so far; `temperature`
    (0: greedy); `top_k` most likely (0: all); `top_p` of the mass; `min_p` times the most
    likely one's probability. Errors: `BadRequest` names the first value out of its range.
    """

    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: Mapping[int, float] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        _check("temperature", self.temperature, 0, 10)
        _check("top_k", self.top_k, 0, 1 << 20)
        _check("top_p", self.top_p, 1e-6, 1)
        _check("min_p", self.min_p, 0, 1)
        _check("repetition_penalty", self.repetition_penalty, 0.1, 10)
        _check("seed", self.seed, 0, _MAX_SEED - 1)
        for token, bias in self.logit_bias.items():
            if token < 0:
                raise BadRequest(f"logit_bias names token {token}; token ids start at 0")
            _check(f"logit_bias of token {token}", bias, -100, 100)


class Constraint(Protocol):
    """What may follow in the answer so far; see apps.engine.numbers."""

    def allowed(self, left: int) -> npt.NDArray[np.bool_]:
        """[vocabulary] which tokens may come now, if at most `left` come in all."""

    def push(self, token: int) -> None:
        """The token came."""


class Sampler:
    """Draws the tokens of one sequence.

    Reproducible: each sequence has its own Philox stream, of which a token takes exactly
    one number, and the core gives a position the same logits to the bit whoever else is
    in the step; so seed, prompt and settings decide the answer, on one build and one
    instruction set. Not across instruction sets (AVX-512, AVX2 and portable code add in
    different orders, so a near-tie may fall the other way) and not across versions of
    numpy, whose exponential may differ in the last bit.
    """

    def __init__(
        self, sampling: Sampling | None = None, constraint: Constraint | None = None
    ) -> None:
        self._how = sampling or Sampling()
        self._constraint = constraint
        self._random = np.random.Philox(key=self._how.seed)
        self._seen: set[int] = set()

    def begin(self, prompt: Iterable[int], vocabulary: int) -> None:
        """The tokens before the answer, for the repetition penalty.

        Errors: `BadRequest` for a bias on a token that a vocabulary of this size has not.
        """
        if (last := max(self._how.logit_bias, default=0)) >= vocabulary:
            raise BadRequest(
                f"logit_bias names token {last}; this model's last is {vocabulary - 1}"
            )
        self._seen.update(prompt)

    def choose(self, logits: F32, left: int) -> int:
        """The token for logits [vocabulary]; `left`, this one included, may come yet.

        Errors: `BadLogits` if one is not finite.
        """
        if not np.isfinite(logits).all():
            raise BadLogits("the logits are not finite; check the model file (inspect)")
        scores = self._adjusted(logits)
        if self._constraint:
            scores = np.where(self._constraint.allowed(left), scores, -np.inf)
        token = self._draw(scores) if self._how.temperature else int(scores.argmax())
        self._seen.add(token)
        if self._constraint:
            self._constraint.push(token)
        return token

    def _adjusted(self, logits: F32) -> F32:
        """A copy with bias and penalty, or the logits themselves."""
        bias, penalty = self._how.logit_bias, np.float32(self._how.repetition_penalty)
        if not bias and penalty == 1:
            return logits
        scores = logits.copy()
        for token, added in bias.items():
            scores[token] += np.float32(added)
        if penalty != 1:
            seen = np.fromiter(self._seen, np.int64, len(self._seen))
            values = scores[seen]
            scores[seen] = np.where(values > 0, values / penalty, values * penalty)
        return scores

    def _draw(self, scores: F32) -> int:
        """One token by its probability among those that the filters leave."""
        how, most = self._how, scores.max()
        temperature = np.float32(max(how.temperature, _COLDEST))
        tokens = np.flatnonzero(scores >= most - _NEVER * temperature)
        if 0 < how.top_k < len(tokens):
            tokens = tokens[_first(scores[tokens], how.top_k)]
        weights = np.exp((scores[tokens] - most) / temperature)
        likely = weights >= how.min_p
        if how.top_p < 1:
            nucleus = np.zeros_like(likely)
            nucleus[_nucleus(weights, how.top_p)] = True
            likely &= nucleus
        tokens, sums = tokens[likely], weights[likely].cumsum(dtype=np.float64)
        point = (int(self._random.random_raw()) >> 11) * 2.0**-53 * sums[-1]
        return int(tokens[min(int(np.searchsorted(sums, point, "right")), len(sums) - 1)])


def _first(values: F32, count: int) -> Places:
    """Where the `count` greatest are, the greatest first, the first first among equals."""
    if count < len(values):
        places = np.sort(np.argpartition(-values, count - 1)[:count])
    else:
        places = np.arange(len(values))
    return places[np.argsort(-values[places], kind="stable")]


def _nucleus(weights: F32, mass: float) -> Places:
    """Where the fewest weights are that make up this part of the sum."""
    wanted = mass * weights.sum(dtype=np.float64)
    # Sorting them all takes as long as computing a token; a few nearly always do.
    for count in (_FEW, len(weights)):
        places = _first(weights, count)
        sums = weights[places].cumsum(dtype=np.float64)
        if sums[-1] >= wanted:
            break
    return places[: int(np.searchsorted(sums, wanted)) + 1]


def _check(name: str, value: float, least: float, most: float) -> None:
    if not (isfinite(value) and least <= value <= most):
        raise BadRequest(f"{name} is {value}; choose {least} to {most}")
