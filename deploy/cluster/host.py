"""What the cluster must leave on the host as it found it: folders and kernel settings."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from deploy.cluster.mounts import BOUND
from deploy.cluster.topology import Cluster

# The kubelet sets these for the whole machine.
SETTINGS = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
_SYS = Path("/proc/sys")


@dataclass(frozen=True)
class Before:
    """The host before `up`: kernel settings by name, and the folders that were missing."""

    settings: dict[str, str]
    missing: list[str]


def look() -> Before:
    settings = {n: (_SYS / n).read_text().strip() for n in SETTINGS if (_SYS / n).exists()}
    wanted = [Path("/run/netns"), *BOUND]
    missing = [
        str(path) for point in wanted for path in (point, *point.parents) if not path.exists()
    ]
    return Before(settings, missing)


def remember(cluster: Cluster) -> None:
    """Keep how the host was, once; then make the mount points."""
    file = cluster.state / "before.json"
    if not file.exists():
        temporary = file.with_suffix(".new")
        temporary.write_text(json.dumps(asdict(look())))
        temporary.replace(file)
    for point in BOUND:
        point.mkdir(parents=True, exist_ok=True)


def recall(cluster: Cluster) -> Before:
    """What `remember` kept; nothing to restore if it never ran."""
    file = cluster.state / "before.json"
    return Before(**json.loads(file.read_text())) if file.exists() else Before({}, [])
