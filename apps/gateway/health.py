"""Whether this gateway has started, may get requests, and is alive."""

import time
from collections.abc import Awaitable, Callable

RECENT_S = 10.0
DRAIN_S = 30.0


class Health:
    """Readiness looks at recent success: a busy gateway is a ready one.

    It is unready only while it stops, or when it can reach neither the pipeline nor the
    database: with one of them it still has something true to tell a customer.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last_success = float("-inf")
        self._drain_until = float("-inf")
        self.started = False
        self.stopping = False

    def succeeded(self) -> None:
        """An answer was given that was not degraded."""
        self._last_success = self._clock()

    def drain(self) -> None:
        """For the next DRAIN_S seconds every reply closes its connection."""
        self._drain_until = self._clock() + DRAIN_S

    @property
    def draining(self) -> bool:
        """Whether connections are to be closed after their reply."""
        return self.stopping or self._clock() < self._drain_until

    async def ready(self, *probes: Callable[[], Awaitable[bool]]) -> tuple[bool, str]:
        """Ready or not, and why in one line; `probes` are tried only without recent success."""
        if self.stopping:
            return False, "stopping"
        if not self.started:
            return False, "starting: no answer from the pipeline and the database yet"
        ago = self._clock() - self._last_success
        if ago <= RECENT_S:
            return True, f"last success {ago:.1f} s ago"
        for probe in probes:
            if await probe():
                return True, "idle, a neighbour answers"
        return False, "neither the pipeline nor the database answers"
