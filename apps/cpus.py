"""How many CPUs this process may use: those it sees, less what its cgroups' quotas take away."""

import os
from math import ceil
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


def available_cpus() -> int:
    """At least 1; a quota of 1.5 CPUs counts as 2."""
    visible = len(os.sched_getaffinity(0))
    quotas = [quota for path in _own_cgroups() if (quota := read_quota(path / "cpu.max"))]
    return min([visible, *map(ceil, quotas)])


def read_quota(file: Path) -> float | None:
    """CPUs that a `cpu.max` file allows; None if it sets no limit or is not there."""
    try:
        quota, period = file.read_text().split()
        return int(quota) / int(period)
    except (OSError, ValueError):
        return None


def _own_cgroups() -> list[Path]:
    """This process's cgroup and those above it; a quota of any of them holds."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return [_CGROUPS]
    own = next((line[3:] for line in lines if line.startswith("0::")), "/")
    path = _CGROUPS / own.lstrip("/")
    return [path, *(above for above in path.parents if above.is_relative_to(_CGROUPS))]
