"""What /proc says of a process. Every read may find it gone: then there is nothing."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
_MAPPED = re.compile(r"^\S+ \S+ \S+ (\S+) (\d+) +(/.*)$")


@dataclass(frozen=True, slots=True)
class Process:
    """A process: `started` (clock ticks since boot) tells it from a later one of its number."""

    pid: int
    started: int


@dataclass(frozen=True, slots=True)
class MappedFile:
    """A file that a process has mapped. `device` and `inode` say that two names are one file;
    `path` is as the process sees it."""

    device: str
    inode: int
    path: str

    @property
    def key(self) -> tuple[str, int]:
        """The file, whatever its name."""
        return self.device, self.inode


def find(pid: int) -> Process | None:
    """The process of this number, if there is one."""
    try:
        stat = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The command's name is in brackets and may hold anything.
    return Process(pid, int(stat.rpartition(")")[2].split()[19]))


def all_pids() -> list[int]:
    """The number of every process that this /proc shows."""
    return [int(name) for name in os.listdir(PROC) if name.isdigit()]


def with_descendants(pids: list[int]) -> list[int]:
    """`pids` and the processes that they started, and so on."""
    children: dict[int, list[int]] = {}
    for pid in all_pids():
        children.setdefault(_parent(pid), []).append(pid)
    found = dict.fromkeys(pids)
    waiting = list(found)
    while waiting:
        fresh = [child for child in children.get(waiting.pop(), ()) if child not in found]
        found.update(dict.fromkeys(fresh))
        waiting += fresh
    return list(found)


def mapped_files(pid: int) -> list[MappedFile]:
    """The files that the process has mapped, each once, in the order of its maps."""
    try:
        lines = (PROC / str(pid) / "maps").read_text(errors="surrogateescape").splitlines()
    except OSError:
        return []
    return list(dict.fromkeys(_mapped(lines)))


def outside_path(pid: int, path: str) -> str:
    """The path by which we reach a file that the process calls `path`."""
    return f"{PROC}/{pid}/root{path}"


def cgroup(pid: int) -> str:
    """The process's control groups, as /proc writes them."""
    try:
        return (PROC / str(pid) / "cgroup").read_text()
    except OSError:
        return ""


def _mapped(lines: list[str]) -> Iterator[MappedFile]:
    for line in lines:
        match = _MAPPED.match(line)
        if match and not match[3].endswith(" (deleted)"):
            yield MappedFile(match[1], int(match[2]), match[3])


def _parent(pid: int) -> int:
    try:
        stat = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[1])
