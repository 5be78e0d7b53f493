"""What each token of an answer cost: the time since the one before, by this request's share."""

import time
from collections.abc import Callable

from apps.gateway.pipeline import NO_TOKEN, Word
from observability.tokens import Account


class Meter:
    """Reports the words of one answer, asked for now, to the request's books."""

    def __init__(self, account: Account, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._account = account
        self._clock_ns = clock_ns
        self._asked_ns = clock_ns()
        self._last_ns: int | None = None

    def heard(self, word: Word) -> None:
        """The next word. The pipeline may run on another node, whose clock says nothing about
        ours: the first token is timed here, and the others by the times between them."""
        if word.token == NO_TOKEN:
            return
        now = self._clock_ns()
        first = self._last_ns is None
        spent = now - self._asked_ns if first else word.at_ns - (self._last_ns or 0)
        self._last_ns = word.at_ns
        self._account.generated(word.token, now, max(0, round(spent * word.share)))
