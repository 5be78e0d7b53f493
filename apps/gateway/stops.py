"""Answers that are running, by session, so that a complaint can stop them at once."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

COMPLAINT = "a complaint was made in this session"
GONE = "the client closed the connection"


class Running:
    """One request in progress, since `began` (monotonic seconds). It ends once; ending it
    cancels the call it waits for."""

    def __init__(self, began: float = 0.0) -> None:
        self.began = began
        self.ended: str | None = None
        self._cancel: Callable[[], object] | None = None
        self._reasons: tuple[str, ...] = ()

    def end(self, why: str) -> None:
        """End it for the reason `why`; a client that is gone outweighs a complaint."""
        if self.ended is None or why == GONE:
            self.ended = why
        if self._cancel is not None and why in self._reasons:
            self._cancel()

    @contextmanager
    def cancelling(
        self, cancel: Callable[[], object], reasons: tuple[str, ...] = (COMPLAINT, GONE)
    ) -> Iterator[None]:
        """While the context is open, an end for one of `reasons` also calls `cancel`."""
        self._cancel, self._reasons = cancel, reasons
        try:
            yield
        finally:
            self._cancel = None


class Stops:
    """All running requests of this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._running: dict[str, set[Running]] = {}

    @contextmanager
    def running(self, session: str) -> Iterator[Running]:
        """A new running request of `session`, known until the context closes."""
        one = Running(self._clock())
        self._running.setdefault(session, set()).add(one)
        try:
            yield one
        finally:
            others = self._running[session]
            others.discard(one)
            if not others:
                del self._running[session]

    def stop(self, session: str, but: Running | None = None, ago_s: float = 0.0) -> int:
        """End the session's running answers, `but` one excepted; says how many there were.

        For a complaint of `ago_s` seconds ago: an answer that began after it goes on.
        """
        made = self._clock() - ago_s
        running = self._running.get(session, ())
        ending = [one for one in running if one is not but and one.began <= made]
        for one in ending:
            one.end(COMPLAINT)
        return len(ending)
