"""What this node can do, each thing proven by doing it."""

import os
import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from observability.agent.events import Record
from observability.agent.points import is_cuda
from observability.agent.process import all_pids, mapped_files
from observability.agent.recorder import Recorder
from observability.bpf.errors import TraceError
from observability.bpf.kernel import FLOOR, release, ways
from observability.bpf.program import bcc
from observability.extension import ExtensionMissing
from observability.gpu.nvml import Nvml
from observability.native import load

# A prime number: no other loop counts so.
EXERCISES = 23
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
    known = ways()
    buffer = "ring buffer" if known.ring_buffer else "perf buffers"
    probes = "a link a program" if known.links else "a perf event a probe"
    return True, f"{major}.{minor}: {buffer}, {probes}"


def _rights() -> tuple[bool | None, str]:
    status = Path("/proc/self/status").read_text()
    (held,) = (int(line.split()[1], 16) for line in status.splitlines() if "CapEff" in line)
    missing = [name for name, bit in _NEEDED.items() if not held >> bit & 1]
    if missing:
        return False, f"without {', '.join(missing)}; run as root, or grant the capabilities"
    return True, ", ".join(_NEEDED)


def _compiler() -> tuple[bool | None, str]:
    return True, f"BCC {bcc().__version__}, with our own kernel headers"


def _exercise(*older: str) -> tuple[bool | None, str]:
    records, _ = _exercised(*older)
    hits = sum(record["layer"] == "token" for record in records)
    if hits != EXERCISES:
        return False, f"{EXERCISES} calls of a probe point gave {hits} events"
    return True, f"{EXERCISES} calls of a probe point gave {hits} events"


def _numbers() -> tuple[bool | None, str]:
    records, _ = _exercised()
    seen = {record["pid"] for record in records if record["layer"] == "token"}
    if seen == {os.getpid()}:
        return True, "processes have the same numbers here as in the kernel"
    return False, "the kernel numbers processes otherwise; give the pod `hostPID: true`"


def _waits(*older: str) -> tuple[bool | None, str]:
    records, switches = _exercised(*older)
    waits = sum(r["layer"] == "wait" and r["kind"] == "off_cpu" for r in records)
    if not 0 < switches <= waits:
        return False, f"{switches} times off the CPU gave {waits} waits"
    how = "perf events" if older else "the scheduler's tracepoints"
    return True, f"{switches} times off the CPU gave {waits} waits, by {how}"


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


def _exercised(*older: str) -> tuple[list[Record], int]:
    """What a recorder saw of a function that slept and gave tokens; how often it left the CPU
    by the kernel's own count."""
    try:
        native = load()
    except ExtensionMissing as error:
        raise TraceError(str(error)) from None
    records: list[Record] = []
    recorder = Recorder(["python", "waits"], records.extend, ways=ways(*older))
    try:
        recorder.follow([os.getpid()])
        native.entry(b"check", 0)
        before = _switches()
        for number in range(EXERCISES):
            native.token(b"check", number, 0, 0)
            time.sleep(0.001)
        switches = _switches() - before
        native.leave(b"check", 0, 0)
    finally:
        recorder.close()
    for record in records:
        for problem in record.get("problems", ()):
            raise TraceError(problem)
    return records, switches


def _switches() -> int:
    usage = resource.getrusage(resource.RUSAGE_THREAD)
    return usage.ru_nvcsw + usage.ru_nivcsw


_CHECKS: dict[str, Callable[[], tuple[bool | None, str]]] = {
    "kernel": _kernel,
    "rights": _rights,
    "compiler": _compiler,
    "probe points": _exercise,
    "perf buffers": lambda: _exercise("perf-buffer", "perf-uprobes"),
    "process numbers": _numbers,
    "waits": _waits,
    "waits by perf": lambda: _waits("perf-switches"),
    "CUDA calls": _cuda,
    "GPU counters": _counters,
}
