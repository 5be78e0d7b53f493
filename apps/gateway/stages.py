"""How long each stage of a request took."""

import time
from collections.abc import Callable


class Stages:
    """A stage begins where the one before it ended; the first began with this object."""

    def __init__(self, clock_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        self._clock_ns = clock_ns
        self._last = clock_ns()
        self.ns: dict[str, int] = {}
        """Nanoseconds by stage, in order. What never ended is not there."""

    def ended(self, name: str) -> None:
        """The stage `name` is over."""
        now = self._clock_ns()
        self.ns[name], self._last = now - self._last, now
