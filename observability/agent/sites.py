"""Where our programs are attached: by links that serve every process, or a process at a time."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Protocol

from observability.agent.points import Point, is_ours, points
from observability.agent.process import MappedFile, Process, outside_path
from observability.bpf.errors import TraceError
from observability.bpf.link import Place, uprobes
from observability.bpf.probe import uprobe
from observability.bpf.program import FILES, Loaded

# Of each file how many points it has, or what is wrong with it.
Found = dict[MappedFile, "int | TraceError"]


class Sites(Protocol):
    """The probes that are in."""

    def attach(self, files: dict[Process, list[MappedFile]]) -> dict[Process, Found]:
        """See these files, new to each process, probed for it."""

    def leave(self, of: Process) -> None:
        """No more events of this process."""

    def close(self) -> None:
        """Take every probe out."""


def sites(loaded: Loaded) -> Sites:
    """In the way that the programs were compiled for."""
    return Linked(loaded) if loaded.ways.links else OneByOne(loaded)


@dataclass
class _File:
    """A file with links. `number` is its own among those that have them now."""

    number: int
    users: set[Process] = field(default_factory=set)
    links: list[int] = field(default_factory=list)
    found: int | TraceError = field(default_factory=lambda: TraceError("it was not opened yet"))


class Linked:
    """A link a program and file, whatever number of places and processes. The kernel knows by
    number which processes are meant."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._files: dict[tuple[str, int], _File] = {}

    def attach(self, files: dict[Process, list[MappedFile]]) -> dict[Process, Found]:
        """See `Sites`."""
        # What could not be opened may be there for another process: the first may have gone.
        fresh: dict[tuple[str, int], list[tuple[Process, MappedFile]]] = {}
        for of, mapped in files.items():
            for file in mapped:
                if file.key not in self._files:
                    self._files[file.key] = _File(self._free_number())
                if isinstance(self._files[file.key].found, TraceError):
                    fresh.setdefault(file.key, []).append((of, file))
                self._files[file.key].users.add(of)
        # A process that sees our points watched may count on everything: they come last, when
        # all processes are known to the kernel.
        untold = {of: error for of in files if (error := self._tell(of))}
        for key in sorted(fresh, key=lambda key: is_ours(fresh[key][0][1])):
            for of, file in fresh[key]:
                self._open(self._files[key], file, of)
                if not isinstance(self._files[key].found, TraceError):
                    break
        return {
            of: {file: untold.get(of) or self._files[file.key].found for file in mapped}
            for of, mapped in files.items()
        }

    def leave(self, of: Process) -> None:
        """See `Sites`."""
        self._loaded.follow(of.pid, ())
        for key, file in list(self._files.items()):
            file.users.discard(of)
            if not file.users:
                _close(file.links)
                del self._files[key]

    def close(self) -> None:
        """See `Sites`."""
        for file in self._files.values():
            _close(file.links)
        self._files.clear()

    def _open(self, to: _File, file: MappedFile, seen_by: Process) -> None:
        path = outside_path(seen_by.pid, file.path)
        _close(to.links)
        to.links.clear()
        try:
            if to.number >= FILES:
                raise TraceError(f"{path}: {FILES} files have probes, and no more can have them")
            found = points(file, path, self._loaded.programs, links=True)
            for (program, at_return), same in groupby(sorted(found, key=_group), _group):
                places = [_place(point, to.number) for point in same]
                to.links.append(
                    uprobes(self._loaded.function(program), path, places, at_return=at_return)
                )
            to.found = len(found)
        except TraceError as error:
            to.found = error

    def _tell(self, of: Process) -> TraceError | None:
        numbers = [file.number for file in self._files.values() if of in file.users]
        try:
            self._loaded.follow(of.pid, (number for number in numbers if number < FILES))
        except TraceError as error:
            return error
        return None

    def _free_number(self) -> int:
        used = {file.number for file in self._files.values()}
        return next(number for number in range(FILES + 1) if number == FILES or number not in used)


class OneByOne:
    """A perf event a place and process, for kernels before 6.6."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._events: dict[Process, list[int]] = {}

    def attach(self, files: dict[Process, list[MappedFile]]) -> dict[Process, Found]:
        """See `Sites`."""
        return {
            of: {file: self._attach(of, file) for file in sorted(mapped, key=is_ours)}
            for of, mapped in files.items()
        }

    def leave(self, of: Process) -> None:
        """See `Sites`."""
        _close(self._events.pop(of, []))

    def close(self) -> None:
        """See `Sites`."""
        for events in self._events.values():
            _close(events)
        self._events.clear()

    def _attach(self, of: Process, file: MappedFile) -> int | TraceError:
        path = outside_path(of.pid, file.path)
        events = self._events.setdefault(of, [])
        try:
            found = points(file, path, self._loaded.programs, links=False)
            for point in found:
                program = self._loaded.function(point.program)
                events.append(
                    uprobe(program, of.pid, path, point.offset, at_return=point.at_return,
                           semaphore=point.semaphore)
                )  # fmt: skip
        except TraceError as error:
            return error
        return len(found)


def _group(point: Point) -> tuple[str, bool]:
    return point.program, point.at_return


def _place(point: Point, file: int) -> Place:
    return Place(point.offset, point.semaphore, file << 32 | point.cookie)


def _close(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
