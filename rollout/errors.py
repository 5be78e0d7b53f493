"""What can go wrong between the controller and the cluster; each is one line for people."""

from __future__ import annotations


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
