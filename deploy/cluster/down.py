"""Takes the cluster down and proves that nothing of it is left."""

from __future__ import annotations

import os
import shutil
import signal
import time
from contextlib import suppress
from pathlib import Path

from deploy.cluster import cgroups, host, mounts, processes, teardown
from deploy.cluster.errors import ClusterError
from deploy.cluster.processes import Process
from deploy.cluster.records import read_records
from deploy.cluster.shell import run
from deploy.cluster.steps import step
from deploy.cluster.teardown import Remains
from deploy.cluster.topology import Cluster
from deploy.cluster.wish import supervisor

# A tracer that is killed holds the kernel for 0.2 s for each of its several hundred probes.
_KILL_S = 240.0
_ROUNDS = 50
_ROUND_S = 0.1


def observe(cluster: Cluster) -> Remains:
    """What of the cluster is on this host now."""
    before = host.recall(cluster)
    mountinfo = Path("/proc/self/mountinfo").read_text()
    others = (
        set(os.listdir(host.NAMESPACES)) - {cluster.name} if host.NAMESPACES.exists() else set()
    )
    points = mounts.under(cluster.state, mountinfo)
    if str(host.NAMESPACES) in before.missing and not others:
        points += [p for p in mounts.under(host.NAMESPACES, mountinfo) if p == host.NAMESPACES]
    now = host.look().settings
    changed = {name: value for name, value in before.settings.items() if now.get(name) != value}
    return Remains(
        supervisor=supervisor(cluster),
        processes=_processes(cluster),
        links=[cluster.name] if Path("/sys/class/net", cluster.name).exists() else [],
        namespaces=[cluster.name] if cluster.network_namespace.exists() else [],
        mounts=points,
        groups=cgroups.folders(cluster.name),
        state=cluster.state if cluster.state.exists() else None,
        folders=[Path(f) for f in before.missing if Path(f).exists()],
        settings=changed,
    )


def _processes(cluster: Cluster) -> list[Process]:
    """All members of the cluster's group, and recorded ones that somebody moved out of it."""
    recorded = [record.process for record in read_records(cluster.run).values()]
    moved = [process for process in recorded if processes.alive(process)]
    return sorted({*cgroups.members(cluster.name), *moved}, key=lambda process: process.pid)


def down(cluster: Cluster) -> None:
    """Remove the cluster. Raises ClusterError naming what could not be removed."""
    if os.geteuid() != 0:
        raise ClusterError("taking a cluster down needs root; run it with sudo")
    remains = observe(cluster)
    if not remains:
        return
    with step(f"take {cluster.name} down"):
        for action in teardown.plan(remains):
            _carry_out(action, cluster)
        left = observe(cluster)
        if left:
            raise ClusterError(f"still there: {teardown.describe(left)}; run it again")


def _carry_out(action: teardown.Action, cluster: Cluster) -> None:
    match action:
        case teardown.Kill(members):
            _kill(list(members), cluster)
        case teardown.Command(argv):
            run(argv)
        case teardown.RemoveGroups(folders):
            for folder in folders:
                _remove_group(folder)
        case teardown.RemoveState(folder):
            host.hand_over(cluster)
            _remove_state(folder)
        case teardown.RemoveEmpty(folders):
            for folder in folders:
                with suppress(OSError):
                    folder.rmdir()
        case teardown.Restore(settings):
            for name, value in settings.items():
                Path("/proc/sys", name).write_text(value)


def _kill(members: list[Process], cluster: Cluster) -> None:
    """KILL, again and again while the dying start others, until the group is empty."""
    deadline = time.monotonic() + _KILL_S
    while time.monotonic() < deadline:
        for process in members:
            if processes.alive(process):
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
        time.sleep(_ROUND_S)
        members = [process for process in members if processes.alive(process)]
        if supervisor(cluster) is None:
            members = _processes(cluster)
        if not members:
            return
    raise ClusterError(f"processes that KILL does not end: {[p.pid for p in members]}")


def _remove_group(folder: Path) -> None:
    """Remove one control group; its last members may still be on their way out."""
    for _ in range(_ROUNDS):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(_ROUND_S)
        else:
            return


def _remove_state(folder: Path) -> None:
    if mounts.under(folder, Path("/proc/self/mountinfo").read_text()):
        raise ClusterError(f"{folder}: something is mounted in it; unmount it and run it again")
    shutil.rmtree(folder)
