"""Processes and the files that they have mapped: which of them have probes by now."""

from collections.abc import Iterable

from observability.agent import process
from observability.agent.points import interesting
from observability.agent.process import MappedFile, Process
from observability.agent.sites import Found, sites
from observability.bpf.errors import TraceError
from observability.bpf.program import Loaded
from observability.bpf.source import Program


class Attached:
    """What is probed in one process: `files` with how many points each, and the `problems` of
    the last update in words."""

    def __init__(self, of: Process) -> None:
        self.of = of
        self.files: dict[str, int] = {}
        self.problems: list[str] = []
        self._seen: set[tuple[str, int]] = set()

    def news(self, programs: frozenset[Program]) -> list[MappedFile]:
        """The files worth a probe that were mapped since."""
        fresh = []
        for file in process.mapped_files(self.of.pid):
            if file.key not in self._seen and interesting(file, programs):
                self._seen.add(file.key)
                fresh.append(file)
        return fresh

    def note(self, found: Found) -> None:
        """Keep what became of them."""
        self.problems = [str(points) for points in found.values() if isinstance(points, TraceError)]
        for file, points in found.items():
            if not isinstance(points, TraceError):
                self.files[file.path] = self.files.get(file.path, 0) + points


class Attacher:
    """Keeps the probes in step with the processes that there are."""

    def __init__(self, loaded: Loaded) -> None:
        self._programs = loaded.programs
        self._sites = sites(loaded)
        self._attached: dict[Process, Attached] = {}

    def follow(self, pids: Iterable[int]) -> tuple[list[Process], list[Attached]]:
        """Attach to these processes and to no others; those that went, those with news."""
        there = {found for pid in pids if (found := process.find(pid))}
        gone = list(self._attached.keys() - there)
        for of in gone:
            del self._attached[of]
            self._sites.leave(of)
        news = {}
        for of in there:
            attached = self._attached.setdefault(of, Attached(of))
            if files := attached.news(self._programs):
                news[of] = files
        for of, outcome in self._sites.attach(news).items():
            self._attached[of].note(outcome)
        return gone, [self._attached[of] for of in news]

    def close(self) -> None:
        """Take every probe out."""
        self._sites.close()
        self._attached.clear()
