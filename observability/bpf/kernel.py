"""Which kernel this is, and by which of its ways we trace."""

import os
from dataclasses import dataclass

FLOOR = (5, 4)
_RING_BUFFER = (5, 8)
_SWITCH_STATE = (5, 18)
_LINKS = (6, 6)
_GROUP_DEAD = (6, 16)
# The number of the first namespace of processes; a link's program knows no other's numbers.
_FIRST_NAMESPACE = "pid:[4026531836]"
# What can be done the older way though the kernel knows the newer one.
OLDER = {
    "perf-buffer": "perf buffers, as on kernels before 5.8",
    "perf-uprobes": "a perf event a probe and process, as on kernels before 6.6",
    "perf-switches": "waits by perf events, as where tracepoints are refused",
}


@dataclass(frozen=True, slots=True)
class Ways:
    """What this kernel is asked for.

    ring_buffer   events come through a ring buffer; else through perf buffers
    links         one link holds all places of a file that run one program, in every process;
                  else each place in each process is a perf event of its own
    tracepoints   the scheduler's raw tracepoints tell of waits; else perf events of each CPU
    switch_state  these tracepoints say why a thread left the CPU
    group_dead    and whether a thread that ends is its process's last
    """

    ring_buffer: bool
    links: bool
    tracepoints: bool
    switch_state: bool
    group_dead: bool

    @property
    def buffer(self) -> str:
        """What events come through, in a word."""
        return "ring" if self.ring_buffer else "perf"


def ways(*older: str, kernel: tuple[int, int] | None = None) -> Ways:
    """The newest ways of a kernel, this one by default, but for those that are to be `older`
    (of OLDER)."""
    there = kernel or release()
    return Ways(
        ring_buffer=there >= _RING_BUFFER and "perf-buffer" not in older,
        links=there >= _LINKS and numbers_are_ours() and "perf-uprobes" not in older,
        tracepoints="perf-switches" not in older,
        switch_state=there >= _SWITCH_STATE,
        group_dead=there >= _GROUP_DEAD,
    )


def numbers_are_ours() -> bool:
    """Whether processes have the same numbers here as in the kernel."""
    return os.readlink("/proc/self/ns/pid") == _FIRST_NAMESPACE


def release(text: str = "") -> tuple[int, int]:
    """(major, minor) of a kernel release as `uname -r` writes it; this kernel's by default."""
    major, minor = (text or os.uname().release).split(".")[:2]
    return int(major), int("".join(filter(str.isdigit, minor.split("-")[0])) or 0)
