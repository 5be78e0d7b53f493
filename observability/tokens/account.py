"""The books of one request: each token from its making to its reader, or to nobody."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum

from observability.native import DELIVERED, DISCARDED, HANDED, RECEIVED
from observability.probes.request import id_of

UNKNOWN = 0xFFFF_FFFF
"""The id of a token that is known only by its text."""

MOST = 1 << 16
"""More tokens than any reply has: a reply that claims more is not believed."""

Fire = Callable[[bytes, int, int, int], None]
"""Tells a tracer: request, token, event, outcome."""


class Reason(IntEnum):
    """Why tokens were thrown away; the probe point's `outcome`."""

    NONE = 0
    CLIENT_LEFT = 1
    COMPLAINT = 2
    STOP_STRING = 3
    DEADLINE = 4
    FAILED = 5


@dataclass(frozen=True, slots=True)
class Token:
    """One token: its id, when it was made (CLOCK_MONOTONIC) and this request's share of the
    time that took."""

    id: int
    at_ns: int
    cost_ns: int


class Account:
    """A token is generated, then handed to `send`, then delivered: written before the client
    was seen to have left. What is generated and not delivered is discarded.

    With `reports` the application enters its tokens itself, by `generated`; otherwise whoever
    reads its reply enters pieces of text and the usage that it claims.
    """

    def __init__(
        self, request: str, began_ns: int, fire: Fire | None = None, *, reports: bool = True
    ) -> None:
        self._request = id_of(request)
        self._began_ns = began_ns
        self._fire = fire or _nobody
        self._tokens: list[Token] = []
        self._handed = 0
        self._delivered = 0
        self._closed = False
        self._reports = reports
        self._pieces = 0
        self._usage: int | None = None
        self.reason = Reason.NONE

    def generated(self, token: int, at_ns: int, cost_ns: int) -> None:
        """A token that the application got from its model."""
        self._add(Token(token, at_ns, cost_ns))

    def piece(self, at_ns: int) -> None:
        """The reply has a piece of text: a token, if nobody knows better."""
        self._pieces += 1
        if self._pieces > len(self._tokens):
            self._add(Token(UNKNOWN, at_ns, self._since_last(at_ns)))

    def usage(self, tokens: int, at_ns: int) -> None:
        """The reply says that it was made of so many tokens up to now."""
        self._usage = min(tokens, MOST)
        while len(self._tokens) < self._usage:
            self._add(Token(UNKNOWN, at_ns, self._since_last(at_ns)))

    def handed(self) -> None:
        """All tokens so far were given to `send`."""
        self._handed = self._each(self._handed, HANDED)

    def delivered(self) -> None:
        """All tokens so far given to `send` were taken while the client was there."""
        self._delivered = self._each(self._delivered, DELIVERED, self._handed)

    def throw_away(self, reason: Reason) -> None:
        """What is not delivered will not be, for `reason`; the first reason counts."""
        self.reason = self.reason or reason

    def close(self) -> None:
        """The request is over."""
        if not self._closed:
            self._closed = True
            for token in self._tokens[self._delivered :]:
                self._fire(self._request, token.id & UNKNOWN, DISCARDED, self.reason)

    def summary(self, watts: float | None = None) -> dict[str, object]:
        """Counts; `share` of the tokens discarded; `seconds` and `joules` that they cost.

        Joules are None where the power is unknown. `estimated` where tokens were counted by
        the pieces of text in the reply and nothing confirms that.
        """
        made = len(self._tokens)
        if self._usage is not None:
            made = min(made, self._usage)
        delivered = min(self._delivered, made)
        seconds = sum(token.cost_ns for token in self._tokens[delivered:made]) / 1e9
        return {
            "generated": made,
            "handed": min(self._handed, made),
            "delivered": delivered,
            "discarded": made - delivered,
            "share": round((made - delivered) / made, 4) if made else 0.0,
            "reason": self.reason.name.lower() if made > delivered else None,
            "seconds": round(seconds, 6),
            "joules": None if watts is None else round(seconds * watts, 3),
            "estimated": bool(made) and not self._reports and self._usage is None,
        }

    def _add(self, token: Token) -> None:
        if len(self._tokens) < MOST:
            self._tokens.append(token)
            self._fire(self._request, token.id & UNKNOWN, RECEIVED, 0)

    def _since_last(self, at_ns: int) -> int:
        return at_ns - (self._tokens[-1].at_ns if self._tokens else self._began_ns)

    def _each(self, first: int, event: int, last: int | None = None) -> int:
        tokens = self._tokens[first:last]
        for token in tokens:
            self._fire(self._request, token.id & UNKNOWN, event, 0)
        return first + len(tokens)


def _nobody(request: bytes, token: int, event: int, outcome: int) -> None:
    """No tracer is there."""
