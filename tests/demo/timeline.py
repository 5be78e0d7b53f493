"""One table of what happened when, from the journal's events and the demo's own steps."""

from __future__ import annotations

import time
from typing import Any


class Timeline:
    def __init__(self) -> None:
        self.origin = time.time()
        self.said: tuple[Any, ...] = ()

    def heading(self, text: str) -> None:
        print(f"\n── {text}", flush=True)

    def start(self, origin: float) -> None:
        """Count from `origin`, unix seconds."""
        self.origin = origin

    def note(self, text: str, at: float | None = None) -> None:
        moment = time.time() if at is None else at
        print(f"{moment - self.origin:+8.1f}  {text}", flush=True)

    def follow(self, status: dict[str, Any]) -> None:
        """Print what the controller says it does, when that is news."""
        candidate = status["candidate"] or {}
        said = (candidate.get("phase"), candidate.get("split"), status["said"])
        if said != self.said:
            self.said = said
            share = f"  [{candidate['split']} %]" if candidate.get("split") else ""
            self.note(f"{status['said']}{share}")
