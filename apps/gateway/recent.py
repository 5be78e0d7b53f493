"""A small cache whose entries expire."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The last `size` values put, each until its time is over."""

    def __init__(self, size: int, clock: Callable[[], float]) -> None:
        self._size = size
        self._clock = clock
        self._kept: OrderedDict[K, tuple[float, V]] = OrderedDict()

    def put(self, key: K, value: V, seconds: float) -> None:
        """Keep `value` for so many seconds."""
        self._kept[key] = (self._clock() + seconds, value)
        self._kept.move_to_end(key)
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)

    def get(self, key: K) -> tuple[V] | None:
        """The value in a tuple of one (it may itself be None), or None."""
        found = self._kept.get(key)
        return (found[1],) if found and found[0] > self._clock() else None
