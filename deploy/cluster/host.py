"""What the clusters must leave on the host as they found it: folders and kernel settings."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from deploy.cluster import files
from deploy.cluster.mounts import BOUND
from deploy.cluster.topology import STATE_PARENT, Cluster

# The kubelet sets these for the whole machine.
SETTINGS = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
NAMESPACES = Path("/run/netns")

_SYS = Path("/proc/sys")
_MEMORY = "before.json"


@dataclass(frozen=True)
class Before:
    """The host before `up`: kernel settings by name, and the folders that were missing."""

    settings: dict[str, str]
    missing: list[str]


def look() -> Before:
    """The host as it is now; of the missing folders the deepest come first."""
    settings = {n: (_SYS / n).read_text().strip() for n in SETTINGS if (_SYS / n).exists()}
    chains = [(point, *point.parents) for point in (NAMESPACES, *BOUND)]
    missing = {str(path): None for chain in chains for path in chain if not path.exists()}
    return Before(settings, sorted(missing, key=len, reverse=True))


def merged(first: Before, second: Before) -> Before:
    """What to restore for two clusters, of which `first` came first and saw the host untouched."""
    missing = dict.fromkeys([*first.missing, *second.missing])
    return Before({**second.settings, **first.settings}, sorted(missing, key=len, reverse=True))


def remember(cluster: Cluster) -> None:
    """Keep how the host was, once; then make the mount points."""
    file = cluster.state / _MEMORY
    if not file.exists():
        _write(file, look())
    for point in BOUND:
        point.mkdir(parents=True, exist_ok=True)


def recall(cluster: Cluster) -> Before:
    """What `cluster` has to restore: nothing while a neighbour lives on the same settings.

    Removing a folder on the host would also unmount what a neighbour has mounted over it.
    """
    file = cluster.state / _MEMORY
    return _read(file) if file.exists() and not _neighbours(cluster) else Before({}, [])


def hand_over(cluster: Cluster) -> None:
    """Leave what `cluster` remembers to a neighbour, if there is one."""
    own = cluster.state / _MEMORY
    for other in _neighbours(cluster)[:1] if own.exists() else []:
        first, second = sorted((own, other), key=lambda file: file.stat().st_mtime)
        times = first.stat()
        _write(other, merged(_read(first), _read(second)))
        os.utime(other, ns=(times.st_atime_ns, times.st_mtime_ns))


def _neighbours(cluster: Cluster) -> list[Path]:
    found = sorted(STATE_PARENT.glob(f"switchyard*/{_MEMORY}"))
    return [file for file in found if file.parent != cluster.state]


def _read(file: Path) -> Before:
    return Before(**json.loads(file.read_text()))


def _write(file: Path, before: Before) -> None:
    files.write(file, json.dumps(asdict(before)))
