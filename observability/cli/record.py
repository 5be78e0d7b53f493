"""`record`: trace processes into a file."""

import os
import signal
import sys
from argparse import Namespace
from time import monotonic

from observability.agent.process import find, with_descendants
from observability.agent.recorder import Recorder
from observability.agent.recording import RecordingFile
from observability.bpf.errors import TraceError
from observability.bpf.kernel import ways
from observability.bpf.source import Program


def run(arguments: Namespace) -> int:
    """Record until the time is over, the processes are gone, or a signal comes."""
    pids: list[int] = arguments.pid
    for pid in pids:
        if find(pid) is None:
            raise TraceError(f"there is no process {pid}")
    if not pids:
        raise TraceError("whom? name a process with --pid")
    file = RecordingFile(arguments.out, arguments.megabytes << 20)
    give_way()
    recorder = Recorder(programs(arguments), file.write, warn=warn, ways=ways(*arguments.older))
    stopped = Stop()
    end = monotonic() + arguments.seconds
    recorder.run(
        lambda: with_descendants(pids),
        lambda: stopped.asked or monotonic() >= end or not any(map(find, pids)),
    )
    loss = recorder.close()
    file.close()
    dropped = f", {file.dropped} lines dropped: the disk is full" if file.dropped else ""
    print(
        f"{loss['lost']} lost, {loss['read']} read of {loss['sent']} events{dropped}",
        file=sys.stderr,
    )
    return 0


def programs(arguments: Namespace) -> list[Program]:
    """What to load."""
    chosen: list[Program] = ["python"]
    chosen += ["gpu"] if arguments.gpu else []
    chosen += ["waits"] if arguments.waits else []
    return chosen


def give_way() -> None:
    """Let what is traced run first: the buffer keeps its events meanwhile."""
    os.nice(10)


def warn(problem: str) -> None:
    """Tell a person, who may not read the recording."""
    print(f"warning: {problem}", file=sys.stderr, flush=True)


class Stop:
    """Whether SIGINT or SIGTERM came: a recording ends whole."""

    def __init__(self) -> None:
        self.asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)

    def _ask(self, *_: object) -> None:
        self.asked = True
