"""What can go wrong between the controller and the cluster; each is one line for people."""

from __future__ import annotations

import json


def line(text: str, most: int) -> str:
    """`text` in one line that takes at most `most` bytes of JSON, its end cut where it is longer.

    What a commit made wrong is told in words of the commit's own, which may be very long.
    """
    whole = " ".join(text[: 2 * most].split())
    shown = "".join(char if char.isprintable() else "?" for char in whole)
    if len(text) <= 2 * most and _size(shown) <= most:
        return shown
    while _size(shown) > most - len("…".encode()):
        shown = shown[: len(shown) * 9 // 10]
    return f"{shown}…"


def _size(text: str) -> int:
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2


class RolloutError(Exception):
    """Anything that ends a command: what is wrong and what to do next, in one line."""


class ApiError(RolloutError):
    """The API server said no. `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ApiUnavailable(RolloutError):
    """The API server cannot be reached or answers 429 or 5xx: try again."""


class Conflict(ApiError):
    """Somebody else wrote first, or the object exists already: read again."""


class Refused(ApiError):
    """A JSON Patch `test` did not hold: this process is late, or the object is another."""


class Superseded(RolloutError):
    """An object carries a newer epoch than this process: read the journal again."""
