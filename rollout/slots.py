"""Seven slots whose weights add up to every whole percentage."""

from __future__ import annotations

WEIGHTS = (1, 2, 4, 8, 16, 32, 37)


def chosen(percent: int) -> frozenset[int]:
    """The slots (0 to 6) that together carry exactly `percent` (0 to 100) of the lookups.

    The largest weights first: 1 to 63 are binary numbers, and what is left
    above 37 is one again. Raises ValueError outside 0 to 100.
    """
    if not 0 <= percent <= 100:
        raise ValueError(f"a share of {percent} % does not exist; use 0 to 100")
    slots = set()
    for slot in reversed(range(len(WEIGHTS))):
        if WEIGHTS[slot] <= percent:
            slots.add(slot)
            percent -= WEIGHTS[slot]
    return frozenset(slots)


def share(slots: frozenset[int] | set[int]) -> int:
    """The percentage of lookups that these slots carry."""
    return sum(WEIGHTS[slot] for slot in slots)
