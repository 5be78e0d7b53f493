"""What pairs of interleaved measurements say about a ratio."""

import random
from collections.abc import Sequence
from statistics import median

_RESAMPLES = 10_000


def upper_bound(ratios: Sequence[float], confidence: float = 0.95) -> float:
    """The one-sided bound on the median ratio, by bootstrap; the same ratios give the same."""
    chance = random.Random(0)
    medians = sorted(median(chance.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES))
    return medians[min(int(_RESAMPLES * confidence), _RESAMPLES - 1)]


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of them do not exceed."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
