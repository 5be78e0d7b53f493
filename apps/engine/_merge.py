"""Byte-pair merging in n log n, so that one long word is no burden."""

import heapq
from collections.abc import Mapping


def merge(symbols: list[str], ranks: Mapping[str, float], joint: str) -> list[str]:
    """Join neighbours, the pair of the lowest rank first, the leftmost of equals first.

    The rank of a pair stands in `ranks` under left + `joint` + right; a pair that is not
    there never joins. `symbols` is used up: a joined symbol lives at its left half's
    index, and the right half's index becomes "".
    """
    count = len(symbols)
    before = list(range(-1, count - 1))
    after = list(range(1, count + 1))
    waiting: list[tuple[float, int, str]] = []
    for left in range(count - 1):
        pair = symbols[left] + joint + symbols[left + 1]
        if pair in ranks:
            waiting.append((ranks[pair], left, pair))
    heapq.heapify(waiting)
    while waiting:
        _, left, pair = heapq.heappop(waiting)
        right = after[left]
        # Either half may have been joined with another since this was noted.
        if right >= count or not symbols[left] or symbols[left] + joint + symbols[right] != pair:
            continue
        symbols[left], symbols[right] = symbols[left] + symbols[right], ""
        after[left] = after[right]
        if after[left] < count:
            before[after[left]] = left
        for first in (before[left], left):
            if first >= 0 and after[first] < count:
                fresh = symbols[first] + joint + symbols[after[first]]
                if fresh in ranks:
                    heapq.heappush(waiting, (ranks[fresh], first, fresh))
    return [symbol for symbol in symbols if symbol]
