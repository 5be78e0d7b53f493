"""What this node can do, each thing proven by doing it."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from observability.agent.events import Record
from observability.agent.points import is_cuda
from observability.agent.process import all_pids, mapped_files
from observability.agent.recorder import Recorder
from observability.bpf.errors import TraceError
from observability.bpf.kernel import FLOOR, RING_BUFFER, release
from observability.bpf.program import bcc
from observability.extension import ExtensionMissing
from observability.gpu.nvml import Nvml
from observability.native import load

# A prime number: no other loop counts so.
EXERCISES = 23
TRACEFS = Path("/sys/kernel/tracing/events/sched/sched_switch/id")
NO_TRACEPOINTS = "no tracepoints, so no waits; run `mount -t tracefs nodev /sys/kernel/tracing`"
# Bits of CapEff. BPF and PERFMON are not enough: kernels refuse uprobes without SYS_ADMIN.
_NEEDED = {"SYS_ADMIN": 21, "SYS_PTRACE": 19}


@dataclass(frozen=True, slots=True)
class Check:
    """`ok` is None for what this node lacks and does not need."""

    name: str
    ok: bool | None
    detail: str


def checks() -> Iterator[Check]:
    """Every check, in the order in which one needs the other."""
    for name, look in _CHECKS.items():
        try:
            ok, detail = look()
        except TraceError as error:
            ok, detail = False, str(error)
        yield Check(name, ok, detail)


def _kernel() -> tuple[bool | None, str]:
    major, minor = release()
    if (major, minor) < FLOOR:
        return False, f"{major}.{minor} is older than {FLOOR[0]}.{FLOOR[1]}; take a newer kernel"
    buffer = "ring buffer" if (major, minor) >= RING_BUFFER else "perf buffers"
    return True, f"{major}.{minor}: {buffer}"


def _rights() -> tuple[bool | None, str]:
    status = Path("/proc/self/status").read_text()
    (held,) = (int(line.split()[1], 16) for line in status.splitlines() if "CapEff" in line)
    missing = [name for name, bit in _NEEDED.items() if not held >> bit & 1]
    if missing:
        return False, f"without {', '.join(missing)}; run as root, or grant the capabilities"
    return True, ", ".join(_NEEDED)


def _compiler() -> tuple[bool | None, str]:
    return True, f"BCC {bcc().__version__}, with our own kernel headers"


def _exercise(perf: bool) -> tuple[bool | None, str]:
    records = _exercised(perf)
    hits = sum(record["layer"] == "token" for record in records)
    if hits != EXERCISES:
        return False, f"{EXERCISES} calls of a probe point gave {hits} events"
    return True, f"{EXERCISES} calls of a probe point gave {hits} events"


def _numbers() -> tuple[bool | None, str]:
    seen = {record["pid"] for record in _exercised(False) if record["layer"] == "token"}
    if seen == {os.getpid()}:
        return True, "processes have the same numbers here as in the kernel"
    return False, "the kernel numbers processes otherwise; give the pod `hostPID: true`"


def _waits() -> tuple[bool | None, str]:
    if TRACEFS.exists():
        return True, "the scheduler's tracepoints are there"
    return (
        False,
        NO_TRACEPOINTS,
    )


def _cuda() -> tuple[bool | None, str]:
    users = [pid for pid in all_pids() if any(is_cuda(file.path) for file in mapped_files(pid))]
    if not users:
        return None, "no process has libcuda or libcudart loaded"
    return True, f"{len(users)} processes have libcuda or libcudart loaded"


def _counters() -> tuple[bool | None, str]:
    try:
        nvml = Nvml()
    except TraceError as error:
        return None, str(error)
    gpus = nvml.read()
    nvml.close()
    untold = sorted({name for gpu in gpus for name in gpu.problems})
    return True, f"{len(gpus)} GPUs" + (f"; n/a: {', '.join(untold)}" if untold else "")


def _exercised(perf: bool) -> list[Record]:
    try:
        native = load()
    except ExtensionMissing as error:
        raise TraceError(str(error)) from None
    records: list[Record] = []
    recorder = Recorder(["python"], records.extend, perf=perf)
    try:
        recorder.follow([os.getpid()])
        for number in range(EXERCISES):
            native.token(b"check", number, 0, 0)
    finally:
        recorder.close()
    for record in records:
        for problem in record.get("problems", ()):
            raise TraceError(problem)
    return records


_CHECKS: dict[str, Callable[[], tuple[bool | None, str]]] = {
    "kernel": _kernel,
    "rights": _rights,
    "compiler": _compiler,
    "probe points": lambda: _exercise(perf=False),
    "perf buffers": lambda: _exercise(perf=True),
    "process numbers": _numbers,
    "waits": _waits,
    "CUDA calls": _cuda,
    "GPU counters": _counters,
}
