"""Rings of traced processes, read through their root before the pod takes them with it."""

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from observability import ring
from observability.agent.events import Record, ring_record
from observability.agent.process import PROC, outside_path

_VARIABLE = b"REQUESTS_RING="


class Rings:
    """Follows every ring that some process names in its environment."""

    def __init__(self) -> None:
        self._last: dict[tuple[int, int], int] = {}

    def news(self, pids: Iterable[int]) -> Iterator[Record]:
        """The lines written since the last time, as records."""
        seen = set()
        for pid in pids:
            if not (path := _path(pid)):
                continue
            try:
                status = os.lstat(path)
                key = (status.st_dev, status.st_ino)
                # A link would be followed in our own root, and a pipe would hold us up.
                if stat.S_ISREG(status.st_mode) and key not in seen:
                    seen.add(key)
                    yield from self._lines(path, key)
            except OSError:
                continue  # it went, or has written no ring yet
        # A file that nobody names any more will not come back under its number.
        self._last = {key: last for key, last in self._last.items() if key in seen}

    def _lines(self, path: str, key: tuple[int, int]) -> Iterator[Record]:
        last = self._last.get(key, 0)
        for line in ring.read(Path(path)).lines:
            if line.number > last:
                self._last[key] = line.number
                if record := ring_record(line.text):
                    yield record


def _path(pid: int) -> str | None:
    try:
        environment = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    for entry in environment.split(b"\0"):
        if entry.startswith(_VARIABLE):
            return outside_path(pid, os.fsdecode(entry[len(_VARIABLE) :]))
    return None
