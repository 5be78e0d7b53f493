"""The one percentile that scenarios and samples share."""

import math
from collections.abc import Iterable


def p95(values: Iterable[float]) -> float:
    """The 95th percentile by nearest rank: of 20 values the 19th (0.0 of nothing)."""
    ordered = sorted(values)
    return ordered[math.ceil(0.95 * len(ordered)) - 1] if ordered else 0.0
