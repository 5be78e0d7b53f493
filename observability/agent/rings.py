"""Rings of traced processes, read through their root before the pod takes them with it."""

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from observability import ring
from observability.agent.events import Record, ring_record
from observability.agent.process import PROC, outside_path

_VARIABLE = b"REQUESTS_RING="
# A link would be followed in our own root, and a pipe would hold us up.
_SAFELY = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_Key = tuple[int, int]


@dataclass
class _Open:
    """A ring that is held open: it can be read once more when its pod has taken the name away.
    `last` is the number of the last line that was told."""

    descriptor: int
    last: int = 0


class Rings:
    """Follows every ring that some process names in its environment."""

    def __init__(self) -> None:
        self._open: dict[_Key, _Open] = {}

    def news(self, pids: Iterable[int]) -> Iterator[Record]:
        """The lines written since the last time, as records."""
        seen = {key for pid in pids if (key := self._find(pid))}
        for key, opened in list(self._open.items()):
            yield from _lines(opened)
            if key not in seen:
                os.close(self._open.pop(key).descriptor)

    def close(self) -> None:
        """Let the files go."""
        for opened in self._open.values():
            os.close(opened.descriptor)
        self._open.clear()

    def _find(self, pid: int) -> _Key | None:
        if not (path := _path(pid)):
            return None
        try:
            descriptor = os.open(path, _SAFELY)
        except OSError:
            return None  # it went, or has written no ring yet
        status = os.fstat(descriptor)
        key = status.st_dev, status.st_ino
        if key in self._open or not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
        else:
            self._open[key] = _Open(descriptor)
        return key


def _lines(opened: _Open) -> Iterator[Record]:
    try:
        lines = ring.read(Path(f"/proc/self/fd/{opened.descriptor}")).lines
    except OSError:
        return
    for line in lines:
        if line.number > opened.last:
            opened.last = line.number
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
