"""What each token of an answer cost: the time since the one before, by this request's share."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from apps.gateway.pipeline import NO_TOKEN, Word
from observability.tokens import Account


@dataclass(slots=True)
class Books:
    """What the model did for one request: the account of its tokens, how many its prompt
    had, and how many of those were computed before."""

    account: Account
    prompt: int = 0
    found: int = 0

    @property
    def cache_hit(self) -> float | None:
        """Which share of the prompt was there already; None without a prompt."""
        return round(self.found / self.prompt, 4) if self.prompt else None


class Meter:
    """Enters the words of one answer, asked for now, in the request's books."""

    def __init__(self, books: Books, clock_ns: Callable[[], int] = time.monotonic_ns) -> None:
        self._books = books
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
        self._books.prompt, self._books.found = word.prompt, word.found
        self._books.account.generated(word.token, now, max(0, round(spent * word.share)))
