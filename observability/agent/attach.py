"""Probes in processes: put in once a file, taken out when the process or the agent goes."""

import os
from collections.abc import Iterable

from observability.agent import process
from observability.agent.points import interesting, is_ours, points
from observability.agent.process import Process
from observability.bpf.errors import TraceError
from observability.bpf.probe import uprobe
from observability.bpf.program import Loaded
from observability.bpf.source import Program


class Attached:
    """The probes in one process: `files` with how many points each, and the `problems` of the
    last update in words."""

    def __init__(self, of: Process) -> None:
        self.of = of
        self.files: dict[str, int] = {}
        self.problems: list[str] = []
        self._seen: set[tuple[str, int]] = set()
        self._descriptors: list[int] = []

    def update(self, loaded: Loaded, programs: frozenset[Program]) -> bool:
        """Attach to files that were mapped since; whether there were any."""
        news = False
        self.problems = []
        # Our own points last: a process that sees them watched may count on all the others.
        for file in sorted(process.mapped_files(self.of.pid), key=is_ours):
            key = (file.device, file.inode)
            if key in self._seen or not interesting(file, programs):
                continue
            self._seen.add(key)
            news = True
            try:
                self._attach(loaded, file, programs)
            except TraceError as error:
                self.problems.append(str(error))
        return news

    def _attach(
        self, loaded: Loaded, file: process.MappedFile, programs: frozenset[Program]
    ) -> None:
        path = process.outside_path(self.of.pid, file.path)
        for point in points(file, path, programs):
            program = loaded.function(point.program)
            self._descriptors.append(
                uprobe(program, self.of.pid, path, point.offset, at_return=point.at_return,
                       semaphore=point.semaphore)
            )  # fmt: skip
            self.files[file.path] = self.files.get(file.path, 0) + 1

    def close(self) -> None:
        """Take the probes out."""
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors.clear()


class Attacher:
    """Keeps the probes in step with the processes that there are."""

    def __init__(self, loaded: Loaded, programs: Iterable[Program]) -> None:
        self._loaded = loaded
        self._programs = frozenset(programs)
        self._attached: dict[Process, Attached] = {}

    def follow(self, pids: Iterable[int]) -> tuple[list[Process], list[Attached]]:
        """Attach to these processes and to no others; those that went, those with news."""
        there = {found for pid in pids if (found := process.find(pid))}
        gone = list(self._attached.keys() - there)
        for of in gone:
            self._attached.pop(of).close()
        changed = []
        for of in there:
            attached = self._attached.setdefault(of, Attached(of))
            if attached.update(self._loaded, self._programs):
                changed.append(attached)
        return gone, changed

    def close(self) -> None:
        """Take every probe out."""
        for attached in self._attached.values():
            attached.close()
        self._attached.clear()
