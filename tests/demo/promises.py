"""What the demo promised, and whether it was kept."""

from __future__ import annotations


class Promises:
    def __init__(self) -> None:
        self.all: list[tuple[bool, str]] = []

    def keep(self, kept: bool, text: str) -> None:
        self.all.append((kept, text))
        print(f"          {'✓' if kept else '✗'} {text}", flush=True)

    @property
    def kept(self) -> bool:
        return bool(self.all) and all(kept for kept, _text in self.all)
