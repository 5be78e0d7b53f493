"""The cached beginnings of prompts: the least recently used goes when there are too many."""

from collections import OrderedDict

from apps.engine.kv import Cache


class Prefixes:
    """Caches by the tokens that fill them exactly.

    A prefix is always computed by itself, stored or not, so that the sums have one
    order and a later token is the same to the bit whether it was found here or not.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._caches: OrderedDict[tuple[int, ...], Cache] = OrderedDict()

    def find(self, tokens: tuple[int, ...]) -> Cache | None:
        if tokens in self._caches:
            self._caches.move_to_end(tokens)
        return self._caches.get(tokens)

    def keep(self, tokens: tuple[int, ...], cache: Cache) -> None:
        self._caches[tokens] = cache
        if len(self._caches) > self._room:
            self._caches.popitem(last=False)
