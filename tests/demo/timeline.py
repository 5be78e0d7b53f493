"""One table of what happened when, from the journal's events and the demo's own steps."""

from __future__ import annotations

import time
from typing import Any


class Timeline:
    def __init__(self) -> None:
        self.origin = time.time()
        self.events: list[dict[str, Any]] = []

    def heading(self, text: str) -> None:
        print(f"\n── {text}", flush=True)

    def start(self, origin: float) -> None:
        """Count from `origin` (unix seconds), and forget the events of before."""
        self.origin = origin
        self.events = []

    def note(self, text: str, at: float | None = None) -> None:
        moment = time.time() if at is None else at
        print(f"{moment - self.origin:+8.1f}  {text}", flush=True)

    def follow(self, status: dict[str, Any]) -> None:
        """Print the events of `status` that are new since `start`."""
        for event in status.get("events", []):
            if event["at"] >= self.origin - 0.5 and event not in self.events:
                self.events.append(event)
                self.note(event["what"], event["at"])

    def at(self, words: str) -> float | None:
        """When the first event that contains `words` happened, unix seconds."""
        found = [event["at"] for event in self.events if words in event["what"]]
        return min(found) if found else None
