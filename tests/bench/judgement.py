"""How near two engines' logits come to the float64 truth, and whether they differ in it."""

from dataclasses import dataclass
from math import comb, exp

import numpy as np
import numpy.typing as npt

Logits = npt.NDArray[np.floating[np.typing.NBitBase]]


@dataclass
class Judgement:
    """Sums over the positions seen so far, of one engine against the truth."""

    squares: float = 0.0  # of the logits' differences
    logits: int = 0
    agreed: tuple[bool, ...] = ()  # for each position: is the most likely token the truth's?
    surprise: float = 0.0  # nats, of each text's next tokens
    predicted: int = 0

    def see(self, truth: Logits, logits: Logits, tokens: list[int]) -> None:
        """Add a text: both [tokens, vocabulary], of every position."""
        self.squares += float(((logits - truth) ** 2).sum())
        self.logits += truth.size
        self.agreed += tuple((logits.argmax(axis=1) == truth.argmax(axis=1)).tolist())
        self.surprise += float(surprise(logits[:-1], tokens[1:]).sum())
        self.predicted += len(tokens) - 1

    @property
    def rms(self) -> float:
        return (self.squares / self.logits) ** 0.5

    @property
    def argmax(self) -> float:
        """Share of positions whose most likely token is the truth's."""
        return sum(self.agreed) / len(self.agreed)

    @property
    def perplexity(self) -> float:
        return exp(self.surprise / self.predicted)


def surprise(logits: Logits, tokens: list[int]) -> npt.NDArray[np.float64]:
    """-log p of each token under its row of logits, in nats."""
    wide = logits.astype(np.float64)
    peak = wide.max(axis=1)
    total = np.log(np.exp(wide - peak[:, None]).sum(axis=1)) + peak
    gone: npt.NDArray[np.float64] = total - wide[np.arange(len(tokens)), tokens]
    return gone


def mcnemar(ours: tuple[bool, ...], theirs: tuple[bool, ...]) -> float:
    """Probability of a split at least this uneven if both were equally often right.

    Exact and two-sided; only positions where exactly one is right count (McNemar, 1947).
    """
    only_ours = sum(a and not b for a, b in zip(ours, theirs, strict=True))
    only_theirs = sum(b and not a for a, b in zip(ours, theirs, strict=True))
    count, fewer = only_ours + only_theirs, min(only_ours, only_theirs)
    tail = sum(comb(count, k) for k in range(fewer + 1)) / 2**count
    return min(1.0, 2 * tail)
