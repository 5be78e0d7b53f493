"""NVML read once a second, on a thread of its own: some of its counters take 20 ms each."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import asdict
from threading import Event, Thread

from observability.agent.clock import now_ns
from observability.agent.events import Record
from observability.agent.process import all_pids
from observability.bpf.errors import TraceError
from observability.bpf.kernel import numbers_are_ours
from observability.gpu.nvml import Gpu, Nvml, ghosts
from observability.gpu.rules import Rule, findings

_EVERY_S = 1.0
# Records that nobody took, and refusals that nobody read, are dropped from here on.
_MOST = 600
_OUT_OF_MEMORY = 2


class GpuWatch:
    """Reads until closed. `take` gives the records since the last time; `warn` is told when NVML
    stops answering, which may be for a moment."""

    def __init__(self, nvml: Nvml, rules: list[Rule], warn: Callable[[str], None]) -> None:
        self._nvml = nvml
        self._rules = rules
        self._warn = warn
        self._said = ""
        self._known = 0
        self._records: deque[Record] = deque(maxlen=_MOST)
        self._refused: deque[Record] = deque(maxlen=_MOST)
        self._over = Event()
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def take(self) -> list[Record]:
        """The records of the layer nvml: one a GPU and second, with what its rules find."""
        return _drained(self._records)

    def note(self, records: Iterable[Record]) -> None:
        """Keep the allocations that failed for want of memory: the next reading tells whether
        there was any."""
        self._refused.extend(filter(is_refusal, records))

    def close(self) -> None:
        """Read no more."""
        self._over.set()
        self._thread.join()
        self._nvml.close()

    def _run(self) -> None:
        while not self._over.wait(_EVERY_S):
            self._read()

    def _read(self) -> None:
        refused = _drained(self._refused)
        try:
            gpus = self._nvml.read()
        except TraceError as error:
            self._say(str(error))
            # Nothing is known of them now; what they last said would pass for news.
            gpus = [Gpu(index, problems={"NVML": str(error)}) for index in range(self._known)]
        else:
            self._say("")
            self._known = len(gpus)
        for gpu in gpus:
            gpu.fields["refused_bytes"] = refused_bytes(gpu, len(gpus), refused)
        # Numbered otherwise, every process would be one that is no more.
        alive = set(all_pids()) if numbers_are_ours() else None
        self._records.extend(record(gpu, self._rules, alive) for gpu in gpus)

    def _say(self, problem: str) -> None:
        if problem and problem != self._said:
            self._warn(problem)
        self._said = problem


def is_refusal(record: Record) -> bool:
    """Whether it is an allocation that failed for want of memory."""
    return (
        record["layer"] == "gpu"
        and record["kind"] in ("alloc", "create")
        and record["result"] == _OUT_OF_MEMORY
        and not record["nested"]
    )


def refused_bytes(gpu: Gpu, gpus: int, refused: Iterable[Record]) -> float | None:
    """The smallest allocation that this GPU refused; None for none, or where it is not told
    which of several GPUs it was."""
    return min(
        (
            float(record["bytes"])
            for record in refused
            if gpus == 1 or record["pid"] in (gpu.processes or {})
        ),
        default=None,
    )


def record(gpu: Gpu, rules: list[Rule], alive: set[int] | None) -> Record:
    """What is written down of a GPU; without knowing who is alive, its ghosts are None."""
    return {
        "layer": "nvml",
        "t_ns": now_ns(),
        "gpu": gpu.index,
        "fields": gpu.fields,
        "problems": gpu.problems,
        "processes": gpu.processes,
        "ghosts": None if alive is None else ghosts(gpu, alive),
        "findings": [asdict(finding) for finding in findings(rules, gpu.fields)],
    }


def _drained(records: deque[Record]) -> list[Record]:
    # Another thread may add meanwhile: only what is there now.
    return [records.popleft() for _ in range(len(records))]
