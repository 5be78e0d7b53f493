"""NVML read once a second, on a thread of its own: some of its counters take 20 ms each."""

from dataclasses import asdict
from threading import Event, Thread

from observability.agent.clock import now_ns
from observability.agent.events import Record
from observability.agent.process import all_pids
from observability.gpu.nvml import Gpu, Nvml, ghosts
from observability.gpu.rules import Rule, findings

_EVERY_S = 1.0
# Records that nobody took are dropped from here on.
_MOST = 600


class GpuWatch:
    """Reads until closed. `take` gives the records since the last time."""

    def __init__(self, nvml: Nvml, rules: list[Rule]) -> None:
        self._nvml = nvml
        self._rules = rules
        self._records: list[Record] = []
        self._over = Event()
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def take(self) -> list[Record]:
        """The records of the layer nvml: one a GPU and second, with what its rules find."""
        taken, self._records = self._records, []
        return taken

    def close(self) -> None:
        """Read no more."""
        self._over.set()
        self._thread.join()
        self._nvml.close()

    def _run(self) -> None:
        while not self._over.wait(_EVERY_S):
            records = [record(gpu, self._rules, set(all_pids())) for gpu in self._nvml.read()]
            self._records = (self._records + records)[-_MOST:]


def record(gpu: Gpu, rules: list[Rule], alive: set[int]) -> Record:
    """What is written down of a GPU."""
    return {
        "layer": "nvml",
        "t_ns": now_ns(),
        "gpu": gpu.index,
        "fields": gpu.fields,
        "problems": gpu.problems,
        "processes": gpu.processes,
        "ghosts": ghosts(gpu, alive),
        "findings": [asdict(finding) for finding in findings(rules, gpu.fields)],
    }
