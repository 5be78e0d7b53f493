"""Byte-pair merging in n log n, so that one long word is no burden."""

import heapq
from itertools import pairwise

Ranks = dict[tuple[str, str], int]


def merge(symbols: list[str], ranks: Ranks) -> list[str]:
    """Join neighbours, the pair of the lowest rank first, the leftmost of equals first.

    `symbols` is used up. A joined symbol lives at its left half's index; the right
    half's index becomes "".
    """
    count = len(symbols)
    before = list(range(-1, count - 1))
    after = list(range(1, count + 1))
    waiting = [
        (ranks[pair], left, pair) for left, pair in enumerate(pairwise(symbols)) if pair in ranks
    ]
    heapq.heapify(waiting)
    while waiting:
        _, left, pair = heapq.heappop(waiting)
        right = after[left]
        # Either half may have been joined with another since this was noted.
        if right >= count or (symbols[left], symbols[right]) != pair:
            continue
        symbols[left], symbols[right] = symbols[left] + symbols[right], ""
        after[left] = after[right]
        if after[left] < count:
            before[after[left]] = left
        for first in (before[left], left):
            if first >= 0 and after[first] < count:
                fresh = (symbols[first], symbols[after[first]])
                if fresh in ranks:
                    heapq.heappush(waiting, (ranks[fresh], first, fresh))
    return [symbol for symbol in symbols if symbol]
