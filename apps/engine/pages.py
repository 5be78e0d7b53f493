"""The pages of the KV pool: how many use each, how full it is, which one goes next."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Usage:
    """Pages by what they are: `live` + `cached` + `free` is all; `shared` of the live ones
    serve several sequences. `filled` are the positions in live and cached pages."""

    page: int
    live: int
    cached: int
    free: int
    shared: int
    filled: int

    @property
    def used(self) -> int:
        """Pages that hold something."""
        return self.live + self.cached

    @property
    def fragmentation(self) -> float:
        """The part of the used pages that holds no position."""
        return 1 - self.filled / (self.used * self.page) if self.used else 0.0


class Pages:
    """`count` pages of `size` positions. A page that nobody uses is cached or free; `forget`
    hears which cached page is given away."""

    def __init__(self, count: int, size: int, forget: Callable[[int], None]) -> None:
        self.size = size
        self.live = 0
        self._forget = forget
        self._free = list(range(count - 1, -1, -1))
        self._users = [0] * count
        self._filled = [0] * count
        self._cached: OrderedDict[int, None] = OrderedDict()  # the next to go first

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._users)

    def is_live(self, page: int) -> bool:
        """Whether a sequence uses the page."""
        return self._users[page] > 0

    def take(self) -> int:
        """A page for one user: a free one, or the cached one that was used longest ago."""
        if self._free:
            page = self._free.pop()
        else:
            page, _ = self._cached.popitem(last=False)
            self._forget(page)
            self._filled[page] = 0
        self.use(page)
        return page

    def use(self, page: int) -> None:
        """One more user."""
        if not self._users[page]:
            self._cached.pop(page, None)
            self.live += 1
        self._users[page] += 1

    def release(self, page: int, keep: bool) -> None:
        """One user less; the last one leaves the page cached if it is to be kept."""
        self._users[page] -= 1
        if self._users[page]:
            return
        self.live -= 1
        if keep:
            self._cached[page] = None
        else:
            self._empty(page)

    def drop(self, page: int) -> None:
        """A cached page becomes free."""
        del self._cached[page]
        self._forget(page)
        self._empty(page)

    def fill(self, page: int, positions: int) -> None:
        """So many of the page's positions are filled."""
        self._filled[page] = positions

    def usage(self) -> Usage:
        """Where the pages are now."""
        return Usage(
            page=self.size,
            live=self.live,
            cached=len(self._cached),
            free=len(self._free),
            shared=sum(users > 1 for users in self._users),
            filled=sum(self._filled),
        )

    def _empty(self, page: int) -> None:
        self._filled[page] = 0
        self._free.append(page)
