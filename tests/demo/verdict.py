"""What the clients saw, boiled down: pure functions of their rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]


def between(rows: Iterable[Row], since: float, until: float) -> list[Row]:
    """Rows of answers (not lookups) whose request began in the span, unix seconds."""
    return [row for row in rows if since <= row["t0"] < until and row["client"]]


def failed(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if not row["ok"]]


def lanes(rows: Iterable[Row]) -> Counter[str]:
    return Counter(row.get("lane") or "-" for row in rows)


def last_new_connection(rows: Iterable[Row], lane: str, since: float) -> float:
    """Seconds from `since` to the last connection opened on `lane`; 0 if none came."""
    opened = [
        row["connected"]
        for row in rows
        if row.get("lane") == lane and row.get("connected", 0) > since
    ]
    return max(opened) - since if opened else 0.0


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least `share` (0…1) of the values do not exceed."""
    ordered = sorted(values)
    if not ordered:
        raise ValueError("no values")
    return ordered[min(len(ordered) - 1, max(0, -int(-share * len(ordered) // 1) - 1))]


def by_client(rows: Iterable[Row]) -> list[tuple[str, int, int, str]]:
    """(client, requests, failures, lanes seen with counts) for the closing table."""
    grouped: dict[str, list[Row]] = {}
    for row in rows:
        grouped.setdefault(row["client"], []).append(row)
    return [
        (name, len(mine), len(failed(mine)), _counts(lanes(mine)))
        for name, mine in sorted(grouped.items())
    ]


def _counts(found: Counter[str]) -> str:
    return ", ".join(f"{lane} {count}" for lane, count in sorted(found.items()))
