"""Rings of traced processes, read through their root before the pod takes them with it."""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from observability import ring
from observability.agent.events import Record, ring_record
from observability.agent.process import PROC, outside_path

_VARIABLE = b"REQUESTS_RING="
# A link, also of a folder, would be followed in our own root, and a pipe would hold us up.
_SAFELY = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_FOLDER = os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY
_Key = tuple[int, int]


@dataclass
class _Open:
    """A ring that is held open: it can be read once more when its pod has taken the name away.
    `lane` is its pod's; `last` is the number of the last line that was told."""

    descriptor: int
    lane: str
    last: int = 0


class Rings:
    """Follows every ring that some process names in its environment."""

    def __init__(self) -> None:
        self._open: dict[_Key, _Open] = {}

    def news(self, lanes: Mapping[int, str]) -> Iterator[Record]:
        """The lines that these processes wrote since the last time, as records. `lanes` says of
        each which lane its pod is of: what it writes itself could lay its waste on the other."""
        seen = {key for pid, lane in lanes.items() if (key := self._find(pid, lane))}
        for key, opened in list(self._open.items()):
            yield from _lines(opened)
            if key not in seen:
                os.close(self._open.pop(key).descriptor)

    def close(self) -> None:
        """Let the files go."""
        for opened in self._open.values():
            os.close(opened.descriptor)
        self._open.clear()

    def _find(self, pid: int, lane: str) -> _Key | None:
        if not (path := _path(pid)):
            return None
        try:
            descriptor = _opened(pid, path)
        except (OSError, ValueError):
            return None  # it went, or has written no ring yet
        status = os.fstat(descriptor)
        key = status.st_dev, status.st_ino
        if key in self._open or not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
        else:
            self._open[key] = _Open(descriptor, lane)
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
                yield record | {"lane": opened.lane}


def _opened(pid: int, path: str) -> int:
    """The file that the process calls `path`, if no link leads to it. Errors: OSError,
    ValueError."""
    *folders, name = PurePosixPath("/", path).parts[1:] or [""]
    at = os.open(outside_path(pid, "/"), os.O_PATH | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        for folder in folders:
            if folder == "..":
                raise ValueError("a way out of its root")
            below = os.open(folder, _FOLDER, dir_fd=at)
            os.close(at)
            at = below
        return os.open(name, _SAFELY, dir_fd=at)
    finally:
        os.close(at)


def _path(pid: int) -> str | None:
    try:
        environment = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    for entry in environment.split(b"\0"):
        if entry.startswith(_VARIABLE):
            return os.fsdecode(entry[len(_VARIABLE) :])
    return None
