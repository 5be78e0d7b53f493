"""The programs that follow threads: when they leave the CPU and come back, begin and end."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from observability.bpf.link import raw_tracepoint
from observability.bpf.probe import switches
from observability.bpf.program import Loaded

_ONLINE = Path("/sys/devices/system/cpu/online")


def attach(loaded: Loaded) -> ExitStack:
    """Attach them; whoever closes the stack takes them out. Errors: `TraceError`."""
    with ExitStack() as attached:
        for descriptor in _attached(loaded):
            attached.callback(os.close, descriptor)
        return attached.pop_all()


def _attached(loaded: Loaded) -> Iterator[int]:
    waits = "waits" in loaded.programs
    if loaded.ways.tracepoints:
        yield raw_tracepoint(loaded.function("task_ended", "tracepoint"), "sched_process_exit")
        yield raw_tracepoint(loaded.function("task_replaced", "tracepoint"), "sched_process_exec")
        if loaded.ways.links:
            started = loaded.function("task_started", "tracepoint")
            yield raw_tracepoint(started, "sched_process_fork")
        if waits:
            yield raw_tracepoint(loaded.function("task_switched", "tracepoint"), "sched_switch")
    elif waits:
        program = loaded.function("cpu_switched", "perf event")
        for cpu in cpus(_ONLINE.read_text()):
            yield switches(program, cpu)


def cpus(ranges: str) -> list[int]:
    """The numbers that the kernel writes as "0-2,5"."""
    found: list[int] = []
    for part in ranges.strip().split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found
