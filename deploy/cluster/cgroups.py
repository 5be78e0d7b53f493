"""The cluster's control groups: one of its name in every hierarchy, whatever their version."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from deploy.cluster.errors import ClusterError
from deploy.cluster.processes import Process, identify

# Weight of the whole cluster against a single process outside it (1024).
_CPU_WEIGHTS = {"cpu.shares": "8192", "cpu.weight": "313"}
# Weight of the control plane against all pods together (1024 a core): starting
# pods must not starve the API server that is to stop them.
_SYSTEM_WEIGHTS = {"cpu.shares": "16384", "cpu.weight": "1000"}
_SYSTEM = "system"


def hierarchies(mountinfo: str) -> dict[str, Path]:
    """Mount point of each hierarchy by the name of its last folder, from /proc/self/mountinfo.

    Named hierarchies without a controller are included: container runtimes use them as well.
    """
    found = {}
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        if after.split()[0] in {"cgroup", "cgroup2"}:
            path = Path(before.split()[4])
            found[path.name] = path
    return found


def tracker(found: dict[str, Path]) -> Path:
    """The hierarchy in which every process of the cluster stands.

    Containers are put into all version 1 hierarchies, and into version 2 only where it is alone.
    """
    if not found:
        raise ClusterError("no control groups are mounted on /sys/fs/cgroup; mount them first")
    return found["pids"] if "pids" in found else next(iter(found.values()))


def _mounted() -> dict[str, Path]:
    return hierarchies(Path("/proc/self/mountinfo").read_text())


def ensure(name: str) -> None:
    """Make the group `name` in every hierarchy, and room for the cluster's own processes."""
    found = _mounted()
    for root in found.values():
        group = root / name
        group.mkdir(exist_ok=True)
        if root == tracker(found):
            _hand_down(root)
            _hand_down(group)
        # Without processors and memory of its own a version 1 cpuset takes no process.
        for setting in ("cpuset.cpus", "cpuset.mems"):
            if (root / setting).exists() and not (group / setting).read_text().strip():
                (group / setting).write_text((root / setting).read_text())
        _weigh(group, _CPU_WEIGHTS)
    for root in _system_roots(found):
        (root / name / _SYSTEM).mkdir(exist_ok=True)
        _weigh(root / name / _SYSTEM, _SYSTEM_WEIGHTS)


def _weigh(group: Path, weights: dict[str, str]) -> None:
    for setting, weight in weights.items():
        if (group / setting).exists():
            (group / setting).write_text(weight)


def _system_roots(found: dict[str, Path]) -> set[Path]:
    """The hierarchies in which the cluster's own processes have a group of theirs."""
    return {
        tracker(found),
        *(root for name, root in found.items() if "cpu" in name.split(",")),
    }


def _hand_down(group: Path) -> None:
    """Let the children of a version 2 group have every controller that it has.

    The top of the hierarchy keeps this when the cluster goes: others may have come to use it.
    """
    if (group / "cgroup.controllers").exists():
        controllers = (group / "cgroup.controllers").read_text().split()
        (group / "cgroup.subtree_control").write_text(" ".join(f"+{c}" for c in controllers))


def enter(name: str) -> None:
    """Move this process, and so all that it will start, into the cluster's group."""
    for root in _system_roots(_mounted()):
        (root / name / _SYSTEM / "cgroup.procs").write_text(str(os.getpid()))


def members(name: str) -> list[Process]:
    """Every live process of the cluster, its pods' included."""
    top = tracker(_mounted()) / name
    numbers: set[int] = set()
    for folder, _, _ in os.walk(top):
        with suppress(FileNotFoundError, OSError):
            numbers |= {int(n) for n in (Path(folder) / "cgroup.procs").read_text().split()}
    return [process for process in map(identify, sorted(numbers)) if process]


def folders(name: str) -> list[Path]:
    """All groups of the cluster in all hierarchies, the deepest first."""
    result = []
    for root in _mounted().values():
        for folder, _, _ in os.walk(root / name, topdown=False):
            result.append(Path(folder))
    return result
