"""One clock for every layer: CLOCK_MONOTONIC, which is BPF's and `perf_counter_ns`'s too."""

import time
from pathlib import Path

_BOOT = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """This boot of this machine: times of two boots cannot be compared."""
    return _BOOT.read_text().strip()


def now_ns() -> int:
    """Nanoseconds since the boot, suspension not counted."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def realtime_offset_ns() -> int:
    """What to add to `now_ns` for nanoseconds since 1970."""
    return time.time_ns() - now_ns()
