"""`serve`: the node's agent. It traces the pods it is told to, until it is ended."""

import sys
from argparse import Namespace
from pathlib import Path
from threading import Lock
from time import monotonic

from observability.agent.events import Record
from observability.agent.pods import Cluster, Pod, processes
from observability.agent.recorder import Recorder
from observability.agent.recording import RecordingFile
from observability.agent.rings import Rings
from observability.agent.service import Service
from observability.agent.totals import Totals
from observability.bpf.errors import TraceError
from observability.bpf.kernel import ways
from observability.cli.record import Stop, give_way, programs, warn
from observability.gpu.nvml import Nvml
from observability.gpu.rules import load
from observability.gpu.watch import GpuWatch

_LIST_S = 5.0
# The loop turns ten times a second; standing still for so long, it is stuck.
_STUCK_S = 60.0


def run(arguments: Namespace) -> int:
    """Trace until SIGTERM."""
    give_way()
    agent = Agent(arguments)
    stopped = Stop()
    try:
        agent.recorder.run(agent.pids, lambda: stopped.asked)
    finally:
        agent.close()
    return 0


class Agent:
    """The parts of the agent and how they feed each other."""

    def __init__(self, arguments: Namespace) -> None:
        self._namespaces: list[str] = arguments.namespace
        self._selector: str = arguments.selector
        self._node: str = arguments.node
        self._cluster = Cluster()
        self._file = RecordingFile(arguments.out, arguments.megabytes << 20)
        self._totals, self._lock = Totals(), Lock()
        self._rings = Rings()
        self._gpus = _gpu_watch(arguments.rules)
        self._pods: dict[str, list[Pod]] = {}
        self._listed = float("-inf")
        self._turned = monotonic()
        self.recorder = Recorder(
            programs(arguments), self._write, warn=warn, ways=ways(*arguments.older)
        )
        self._service = Service(arguments.port, self._totals, self._lock, self._is_alive)

    def pids(self) -> list[int]:
        """The processes to trace; called once a second, and with it everything else is due."""
        self._turned = monotonic()
        if self._turned - self._listed >= _LIST_S:
            self._listed = self._turned
            self._list_pods()
        found = processes(pod for pods in self._pods.values() for pod in pods)
        lines = self._rings.news({pid: pod.lane for pid, pod in found.items()})
        self._write([*lines, *(self._gpus.take() if self._gpus else [])])
        return list(found)

    def close(self) -> None:
        """End: probes out, what is left written down."""
        self.recorder.close()
        if self._gpus:
            self._gpus.close()
        self._service.close()
        self._rings.close()
        self._file.close()

    def _write(self, records: list[Record]) -> None:
        if self._gpus:
            self._gpus.note(records)
        self._file.write(records)
        with self._lock:
            self._totals.add(records)

    def _list_pods(self) -> None:
        for namespace in self._namespaces:
            try:
                pods = self._cluster.pods(namespace, self._selector, self._node)
            except TraceError as error:
                # Those known so far are traced on.
                warn(str(error))
            else:
                self._pods[namespace] = pods

    def _is_alive(self) -> bool:
        return monotonic() - self._turned < _STUCK_S


def _gpu_watch(rules: Path) -> GpuWatch | None:
    chosen = load(rules)
    try:
        return GpuWatch(Nvml(), chosen, warn)
    except TraceError as error:
        print(f"no GPU counters: {error}", file=sys.stderr, flush=True)
        return None
