"""The controller's marks on an object, read in one place: nobody else's text counts or stops us."""

from __future__ import annotations

import re
from typing import Any

from rollout.names import EPOCH, RELEASE

DIGITS = 13
"""One more than the API server lets the controller write (deploy/base/rollout/admission).

So an undo from a terminal can count above the highest epoch that a fooled
controller could have written, and what it wrote is read again. A longer number
is no epoch: it counts as none, and the next write replaces it.
"""
_NUMBER = re.compile(f"[0-9]{{1,{DIGITS}}}")


def epoch(body: dict[str, Any]) -> int:
    """The epoch on an object; 0 without one, and for what no writer of ours can have written."""
    return number(annotation(body, EPOCH)) or 0


def release(body: dict[str, Any]) -> int | None:
    """The release that an object stands for; None without one."""
    return number(annotation(body, RELEASE))


def annotation(body: dict[str, Any], name: str) -> str:
    """An annotation of an object; empty without it."""
    return str((body["metadata"].get("annotations") or {}).get(name, ""))


def number(text: str) -> int | None:
    """A number that we may have written, else None."""
    return int(text) if _NUMBER.fullmatch(text) else None


def is_epoch(value: object) -> bool:
    """Whether a value from the journal can be an epoch."""
    return type(value) is int and number(str(value)) is not None
