"""The loop: attach to what came, read what happened, write it down, say what was lost."""

import resource
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from time import monotonic

from observability.agent.attach import Attached, Attacher
from observability.agent.clock import boot_id, now_ns
from observability.agent.events import Record, decode
from observability.agent.process import Process
from observability.agent.recording import loss
from observability.bpf import tasks
from observability.bpf.errors import TraceError
from observability.bpf.kernel import Ways
from observability.bpf.kernel import ways as newest
from observability.bpf.program import PAGES, Counts, Loaded
from observability.bpf.source import Program

_FOLLOW_S = 1.0
_POLL_MS = 100
# More is not taken in one go, however fast events come: memory stays bounded.
_AT_ONCE = 65536
# What is left at the end: a buffer, however large.
_LAST_STEPS = 1000


class Recorder:
    """Events of some processes, as records for `write`.

    `read` events were taken out of the buffer; `warn` is told what cannot be attached to."""

    def __init__(
        self,
        programs: Iterable[Program],
        write: Callable[[list[Record]], None],
        *,
        warn: Callable[[str], None] = lambda _: None,
        ways: Ways | None = None,
        pages: int = PAGES,
    ) -> None:
        """Errors: `TraceError`."""
        # Each link or event is a descriptor.
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        self._loaded, self._tasks = _load(frozenset(programs), ways or newest(), pages, warn)
        self._attacher = Attacher(self._loaded)
        self._loaded.listen(self._take)
        self._waiting: list[bytes] = []
        self._write = write
        self._warn = warn
        self._boot = boot_id()
        self._reported: tuple[Counts, int] | None = None
        self.read = 0

    def follow(self, pids: Iterable[int]) -> None:
        """Attach to these processes, and leave all others."""
        gone, changed = self._attacher.follow(pids)
        for attached in changed:
            for problem in attached.problems:
                self._warn(f"process {attached.of.pid}: {problem}")
        self._write([_gone(process) for process in gone] + [_attached(a) for a in changed])

    def step(self, wait_ms: int = _POLL_MS) -> None:
        """Read and write what is there; wait for it up to `wait_ms`."""
        self._loaded.poll(wait_ms)
        taken, self._waiting = self._waiting, []
        self.read += len(taken)
        if taken:
            self._write([decode(data, self._boot) for data in taken])

    def report(self) -> Record:
        """The losses so far, written too if they changed."""
        counts = self._loaded.counts()
        record = loss(counts, self.read, self._loaded.ways.buffer)
        if (counts, self.read) != self._reported:
            self._reported = counts, self.read
            self._write([record])
        return record

    def run(self, pids: Callable[[], Iterable[int]], until: Callable[[], bool]) -> None:
        """Record until `until`, asking once a second whom to follow."""
        due = 0.0
        while not until():
            if monotonic() >= due:
                self.follow(pids())
                self.report()
                due = monotonic() + _FOLLOW_S
            self.step()

    def close(self) -> Record:
        """Take the probes out, read what is left, and return the final losses."""
        self._attacher.close()
        self._tasks.close()
        for _ in range(_LAST_STEPS):
            self.step(0)
            counts = self._loaded.counts()
            # A program may still run when its link is closed.
            if self.read + counts.lost == counts.sent:
                break
        record = self.report()
        self._loaded.close()
        return record

    def _take(self, data: bytes) -> bool:
        self._waiting.append(data)
        return len(self._waiting) < _AT_ONCE


def _load(
    programs: frozenset[Program], ways: Ways, pages: int, warn: Callable[[str], None]
) -> tuple[Loaded, ExitStack]:
    """The programs, and what follows threads: by the scheduler's tracepoints, or else by perf
    events, or else there are no waits."""
    loaded = Loaded(programs, ways, pages=pages)
    try:
        return loaded, tasks.attach(loaded)
    except TraceError as error:
        loaded.close()
        if ways.tracepoints:
            return _load(programs, replace(ways, tracepoints=False), pages, warn)
        warn(f"no waits: {error}")
        return _load(programs - {"waits"}, ways, pages, warn)


def _gone(process: Process) -> Record:
    return {"layer": "process", "kind": "gone", "t_ns": now_ns(), "pid": process.pid}


def _attached(attached: Attached) -> Record:
    return {
        "layer": "process",
        "kind": "attached",
        "t_ns": now_ns(),
        "pid": attached.of.pid,
        "started": attached.of.started,
        "points": attached.files,
        "problems": attached.problems,
    }
