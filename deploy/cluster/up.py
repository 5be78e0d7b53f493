"""Brings the cluster up, or repairs one that is half up; does nothing that is done already."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from deploy.cluster import (
    api,
    builds,
    cgroups,
    components,
    configs,
    credentials,
    host,
    network,
    old_images,
    packages,
    pause_image,
    processes,
)
from deploy.cluster.errors import ClusterError
from deploy.cluster.keeper import reachable
from deploy.cluster.processes import Process
from deploy.cluster.records import read_records
from deploy.cluster.status import component_states, node_ready
from deploy.cluster.steps import step
from deploy.cluster.topology import Cluster
from deploy.cluster.wish import supervisor, write_wish

_REPOSITORY = Path(__file__).parents[2]


def up(cluster: Cluster) -> None:
    """All steps in order. Raises ClusterError naming the log to read."""
    if os.geteuid() != 0:
        raise ClusterError("bringing a cluster up needs root; run it with sudo")
    with step("packages"):
        packages.install_missing()
    binaries = {}
    for name in ("pause", "etcd", "kube", "coredns", "network-policies"):
        with step(f"build {name}"):
            binaries[name] = builds.ensure(name, cluster.cache)
    with step("credentials and configuration"):
        _prepare(cluster, binaries)
    with step("network"):
        network.ensure(cluster)
    with step("processes"):
        cgroups.ensure(cluster.name)
        _start_supervisor(cluster)
    with step("registry"):
        where = f"tcp:{cluster.registry}"
        api.wait(lambda: reachable(where), "no registry", cluster.logs / "registry.log", 60)
        pause_image.push(cluster, binaries["pause"])
    settle(cluster)
    with step("old images"):
        pause = pause_image.reference(cluster, binaries["pause"])
        old_images.collect(cluster, _REPOSITORY, {pause.rpartition(":")[2]})


def settle(cluster: Cluster) -> None:
    """Wait until every component runs as wished, the API server answers and the node is Ready."""
    client = api.Api(cluster)
    with step("components"):
        for item in component_states(cluster):
            api.wait(partial(_running, cluster, item.name), f"{item.name} not running", item.log)
    with step("API server"):
        api.wait(client.ready, "API server not ready", cluster.logs / "kube-apiserver.log")
    with step("node Ready"):
        api.wait(
            partial(node_ready, cluster, client), "node not Ready", cluster.logs / "kubelet.log"
        )


def _running(cluster: Cluster, name: str) -> bool:
    return any(state.running for state in component_states(cluster) if state.name == name)


def _prepare(cluster: Cluster, binaries: dict[str, Path]) -> None:
    for folder in (cluster.run, cluster.logs / "pods", cluster.config, cluster.registry_data):
        folder.mkdir(parents=True, exist_ok=True)
    host.remember(cluster)
    credentials.ensure(cluster)
    image = pause_image.reference(cluster, binaries["pause"])
    texts = {}
    for relative, text in configs.files(cluster, image).items():
        path = cluster.config / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        # kube-proxy ends when its file is rewritten, even with the same text.
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
        texts[str(path)] = text
    wanted = components.components(cluster, binaries["kube"], binaries["etcd"])
    write_wish(cluster, [components.stamped(item, texts) for item in wanted])


def _start_supervisor(cluster: Cluster) -> None:
    if supervisor(cluster):
        return
    command = [sys.executable, "-m", "deploy.cluster.supervisor"]
    neighbour = _survivor(cluster)
    if neighbour:
        # Its mounts are still needed by the pods that live on.
        entry = ["nsenter", f"--target={neighbour.pid}", "--mount", "--net"]
    else:
        private = ["unshare", "--mount", "--propagation=private"]
        entry = network.inside(cluster, private)
    with (cluster.logs / "supervisor.log").open("ab") as log:
        subprocess.Popen(
            [*entry, *command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd="/",
            start_new_session=True,
            env=_environment(cluster),
        )
    log_path = cluster.logs / "supervisor.log"
    api.wait(lambda: supervisor(cluster) is not None, "no supervisor", log_path, 20)


def _environment(cluster: Cluster) -> dict[str, str]:
    """Environment of all processes: none of the caller's proxies, tokens or settings."""
    return {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/root",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(_REPOSITORY),
        "SWITCHYARD_CLUSTER": cluster.name,
    }


def _survivor(cluster: Cluster) -> Process | None:
    """A process of this cluster that outlived its supervisor, in the right namespaces."""
    for record in read_records(cluster.run).values():
        if processes.alive(record.process):
            return record.process
    return None
