"""Processes named so that nobody is mistaken for one that had the same number before."""

from __future__ import annotations

import os
import select
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A process: its number, its start in clock ticks since boot, and which boot."""

    pid: int
    start: int
    boot: str


def boot_id() -> str:
    return (_PROC / "sys/kernel/random/boot_id").read_text().strip()


def parse_stat(text: str) -> tuple[str, int]:
    """State letter and start time (clock ticks since boot) from `/proc/PID/stat`."""
    # The command stands in parentheses and may itself contain any character.
    fields = text.rpartition(")")[2].split()
    return fields[0], int(fields[19])


def identify(pid: int) -> Process | None:
    """The live process with this number; None for a missing or a dead, unreaped one."""
    try:
        state, start = parse_stat((_PROC / str(pid) / "stat").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if state in "ZX" else Process(pid, start, boot_id())


def alive(process: Process) -> bool:
    return identify(process.pid) == process


def started(process: Process) -> float:
    """When the process started, in seconds since the epoch."""
    since_boot = process.start / os.sysconf("SC_CLK_TCK")
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + since_boot


def watch(process: Process) -> int | None:
    """A file descriptor that becomes readable when the process ends; None if it has ended."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return None
    if alive(process):
        return descriptor
    os.close(descriptor)
    return None


def end(process: Process, grace: float) -> None:
    """Stop a process: TERM, KILL after `grace` seconds, KILL at once for 0. Waits for its end."""
    descriptor = watch(process)
    if descriptor is None:
        return
    try:
        for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, 5.0)):
            if seconds <= 0:
                continue
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(descriptor, number)
            if select.select([descriptor], [], [], seconds)[0]:
                return
    finally:
        os.close(descriptor)
