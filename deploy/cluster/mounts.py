"""The private mount namespace: folders that kubelet and containerd insist on are the cluster's own.

Nothing mounted in it is seen by the host, and all of it goes with its last process.
"""

from __future__ import annotations

from pathlib import Path

from deploy.cluster.shell import run
from deploy.cluster.topology import Cluster

# Mount points that must exist on the host, and the folder of the cluster's state put over each.
BOUND = {
    Path("/var/lib/kubelet"): "kubelet",
    Path("/var/lib/cni"): "cni",
    Path("/var/log/containers"): "log/containers",
}


def under(folder: Path, mountinfo: str) -> list[Path]:
    """Mount points at or below `folder`, the deepest first, from /proc/self/mountinfo."""
    points = [Path(line.split()[4]) for line in mountinfo.splitlines()]
    found = {point for point in points if point == folder or folder in point.parents}
    return sorted(found, key=lambda point: len(point.parts), reverse=True)


def make_private(of: Cluster) -> None:
    """Lay the cluster's folders over the host's, once in the life of this mount namespace."""
    kubelet = next(iter(BOUND))
    if under(kubelet, Path("/proc/self/mountinfo").read_text()):
        return
    # Volumes that pods mount reach other pods that ask for it, and never the host.
    run(["mount", "--make-rshared", "/"])
    for point, folder in BOUND.items():
        source = of.state / folder
        source.mkdir(parents=True, exist_ok=True)
        run(["mount", "--bind", source, point])
    run(["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"])
