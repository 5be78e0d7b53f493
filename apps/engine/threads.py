"""How many threads compute, and on which CPUs."""

import os
from math import ceil
from pathlib import Path

from apps.engine.errors import BadRequest

MOST = 64
_CGROUPS = Path("/sys/fs/cgroup")


def default_threads() -> int:
    """`$ENGINE_THREADS`, or as many as the cgroup's quota and the visible CPUs give.

    Errors: `BadRequest`.
    """
    if text := os.environ.get("ENGINE_THREADS"):
        if not (text.isascii() and text.isdigit()):
            raise BadRequest(f"ENGINE_THREADS is {text!r}; set it to a number from 1 to {MOST}")
        return checked(int(text))
    visible = len(os.sched_getaffinity(0))
    quotas = [quota for path in _own_cgroups() if (quota := read_quota(path / "cpu.max"))]
    return min([visible, MOST, *map(ceil, quotas)])


def checked(threads: int) -> int:
    """`threads`, if so many are possible. Errors: `BadRequest`."""
    if not 1 <= threads <= MOST:
        raise BadRequest(f"{threads} threads (ENGINE_THREADS); choose 1 to {MOST}")
    return threads


def read_quota(file: Path) -> float | None:
    """CPUs that a `cpu.max` file allows; None if it sets no limit or is not there."""
    try:
        quota, period = file.read_text().split()
        return int(quota) / int(period)
    except (OSError, ValueError):
        return None


def exclusive_cpus(threads: int) -> tuple[int, ...]:
    """A CPU for each thread, if this process was given a set of just as many; else none.

    Where all CPUs of the machine are allowed, others use them too: a thread that is pinned
    there waits for them.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) == threads and threads < (os.cpu_count() or 1):
        return tuple(allowed)
    return ()


def _own_cgroups() -> list[Path]:
    """This process's cgroup and those above it; a quota of any of them holds."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return [_CGROUPS]
    own = next((line[3:] for line in lines if line.startswith("0::")), "/")
    path = _CGROUPS / own.lstrip("/")
    return [path, *(above for above in path.parents if above.is_relative_to(_CGROUPS))]
