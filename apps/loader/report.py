"""The load report: progress while it runs, a table or JSON at the end."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import IO, Any

from apps.loader.load import Result

_BAR = 24


class Progress:
    """One line that is written over and over on a terminal; nothing elsewhere."""

    def __init__(self, total: int, out: IO[str]) -> None:
        self._total = total
        self._out = out
        self._shown = out.isatty()

    def step(self, done: int, name: str) -> None:
        """`done` files are finished and `name` is next."""
        if self._shown:
            full = _BAR * done // max(1, self._total)
            bar = "#" * full + "." * (_BAR - full)
            print(f"\r[{bar}] {done}/{self._total} {name[:40]:40}", end="", file=self._out)
            self._out.flush()

    def end(self) -> None:
        """Leave the line."""
        if self._shown:
            print("\r" + " " * (_BAR + 60) + "\r", end="", file=self._out)


def totals(results: Sequence[Result]) -> dict[str, Any]:
    """Sums over the files; `skipped` are pages, `hidden` characters, by reason."""
    skipped: Counter[str] = Counter()
    hidden: Counter[str] = Counter()
    for result in results:
        skipped.update(result.skipped)
        hidden.update(result.hidden)
    return {
        "files": len(results),
        "outcomes": dict(Counter(result.outcome for result in results)),
        "pages": sum(result.pages for result in results),
        "chunks": sum(result.chunks for result in results),
        "skipped": dict(skipped),
        "hidden": dict(hidden),
        "seconds": round(sum(result.seconds for result in results), 3),
    }


def as_json(results: Sequence[Result]) -> str:
    """`{"files": [a result each], "totals": …}`."""
    message = {"files": [asdict(result) for result in results], "totals": totals(results)}
    return json.dumps(message, ensure_ascii=False, indent=1)


def as_table(results: Sequence[Result]) -> str:
    """A line a file and a line for all."""
    width = max([len(result.name) for result in results] + [4])
    lines = [f"{'FILE':{width}}  {'OUTCOME':9} {'PAGES':>5} {'CHUNKS':>6} {'S':>6}  NOTES"]
    for result in results:
        line = f"{result.name:{width}}  {result.outcome:9} {result.pages:5} {result.chunks:6}"
        lines.append(f"{line} {result.seconds:6.2f}  {_notes(result)}".rstrip())
    whole = totals(results)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in whole["outcomes"].items())
    lines.append(
        f"{whole['files']} files ({outcomes or 'none'}): {whole['pages']} pages, "
        f"{whole['chunks']} chunks, {whole['seconds']:.1f} s"
    )
    if whole["skipped"]:
        lines.append(f"pages left out: {_counted(whole['skipped'])}")
    if whole["hidden"]:
        lines.append(f"characters that nobody sees, left out: {_counted(whole['hidden'])}")
    return "\n".join(lines)


def _notes(result: Result) -> str:
    flags = [one["name"] for one in result.risk.get("ratios", ()) if one["flag"]]
    flags += [f"{one['label']} {one['flag']}" for one in result.risk.get("results", ())]
    parts = [
        result.error,
        f"left out: {_counted(result.skipped)}" if result.skipped else "",
        "repaired: it was damaged" if result.repaired else "",
        f"risk: {', '.join(flags)}" if flags else "",
    ]
    return "; ".join(filter(None, parts))


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in sorted(counts.items()))
