"""What the demo promised, and whether it was kept."""

from __future__ import annotations


class Promises:
    """`judge_times`: whether a broken time counts; a busy machine may only report it."""

    def __init__(self, judge_times: bool = True) -> None:
        self.all: list[tuple[bool, str]] = []
        self.judge_times = judge_times

    def keep(self, kept: bool, text: str) -> None:
        self.all.append((kept, text))
        print(f"          {'✓' if kept else '✗'} {text}", flush=True)

    def within(self, seconds: float | None, limit: float, text: str) -> None:
        """Promise that something took at most `limit` seconds (None: it never happened)."""
        took = "never" if seconds is None else f"{seconds:.2f} s"
        kept = seconds is not None and (seconds <= limit or not self.judge_times)
        self.keep(kept, f"{text}: {took} (≤ {limit:g} s)")

    @property
    def kept(self) -> bool:
        return bool(self.all) and all(kept for kept, _text in self.all)
