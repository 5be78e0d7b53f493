"""A second cluster beside the usual one: up, broken, repaired, and gone without a trace."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deploy.cluster import cgroups, host, topology
from deploy.cluster.down import observe
from deploy.cluster.topology import Cluster

REPOSITORY = Path(__file__).parents[2]
NAME = "switchyard-9"


def _cluster(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "deploy.cluster", *words],
        cwd=REPOSITORY,
        env={**os.environ, "SWITCHYARD_CLUSTER": NAME},
        capture_output=True,
        text=True,
        timeout=300,
    )


def _well(*words: str) -> str:
    done = _cluster(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _status() -> dict[str, Any]:
    return dict(json.loads(_cluster("status", "--output", "json").stdout))


def _kubectl(of: Cluster, *words: str, stdin: str | None = None) -> str:
    kubectl = Path(sys.executable).with_name("kubectl")
    return subprocess.run(
        [kubectl, f"--kubeconfig={of.kubeconfig}", *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout


def _host() -> dict[str, object]:
    """All that a cluster could leave on the host, apart from its own folders."""
    rules = subprocess.run(["iptables-save"], capture_output=True, text=True).stdout
    routes = subprocess.run(["ip", "route"], capture_output=True, text=True).stdout
    mounted = Path("/proc/self/mountinfo").read_text().splitlines()
    return {
        "rules": [line for line in rules.splitlines() if not line.startswith(("#", ":"))],
        "routes": routes,
        "interfaces": sorted(os.listdir("/sys/class/net")),
        "mounts": sorted(line for line in mounted if NAME in line or "/run/netns " in line),
        "host": host.look(),
    }


def _pid(component: str) -> int:
    return next(int(c["pid"]) for c in _status()["components"] if c["name"] == component)


def _until_down_is_seen(component: str, pid: int) -> None:
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        found = [c for c in _status()["components"] if c["name"] == component]
        if found[0]["running"] and found[0]["pid"] != pid:
            return
        time.sleep(0.2)
    pytest.fail(f"{component} was not started again")


def _pod(image: str) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "holder", "namespace": "default"},
            "spec": {
                "automountServiceAccountToken": True,
                "terminationGracePeriodSeconds": 0,
                "containers": [
                    {
                        "name": "pause",
                        "image": image,
                        "volumeMounts": [{"name": "memory", "mountPath": "/memory"}],
                    }
                ],
                "volumes": [{"name": "memory", "emptyDir": {"medium": "Memory"}}],
            },
        }
    )


@pytest.fixture(scope="module")
def of() -> Iterator[Cluster]:
    """The second cluster, up; taken down whatever happens."""
    of = topology.cluster({**os.environ, "SWITCHYARD_CLUSTER": NAME})
    _well("down")
    before = _host()
    try:
        _well("up")
        yield of
    finally:
        _well("down")
    assert _host() == before
    assert not observe(of)
    assert cgroups.members(NAME) == []


@pytest.fixture(scope="module")
def pod(of: Cluster) -> str:
    """Container id of a pod with a mounted volume and a mounted token."""
    config = (of.config / "containerd.toml").read_text()
    image = next(li.split('"')[3] for li in config.splitlines() if "sandbox_image" in li)
    # The account's token is made a moment after the node is Ready.
    limit = time.monotonic() + 20
    while "default" not in _kubectl(of, "get", "serviceaccounts"):
        assert time.monotonic() < limit
        time.sleep(0.2)
    _kubectl(of, "apply", "-f", "-", stdin=_pod(image))
    _kubectl(of, "wait", "--for=condition=Ready", "pod/holder", "--timeout=60s")
    return _container(of)


def _container(of: Cluster) -> str:
    path = "jsonpath={.status.containerStatuses[0].containerID}"
    return _kubectl(of, "get", "pod", "holder", "-o", path)


def test_second_up_changes_nothing_and_takes_under_five_seconds(of: Cluster, pod: str) -> None:
    pids = [c["pid"] for c in _status()["components"]]
    began = time.monotonic()
    _well("up")
    assert time.monotonic() - began < 5
    assert [c["pid"] for c in _status()["components"]] == pids


def test_killed_component_is_started_again_by_itself(of: Cluster, pod: str) -> None:
    old = _pid("kube-proxy")
    os.kill(old, signal.SIGKILL)
    _until_down_is_seen("kube-proxy", old)
    assert _container(of) == pod


def test_rewritten_proxy_configuration_does_not_end_the_proxy_for_long(
    of: Cluster, pod: str
) -> None:
    file = of.config / "kube-proxy.yaml"
    old = _pid("kube-proxy")
    file.write_text(file.read_text())
    _until_down_is_seen("kube-proxy", old)


def test_up_replaces_a_killed_supervisor_and_adopts_what_lives(of: Cluster, pod: str) -> None:
    kept, lost = _pid("etcd"), _pid("kubelet")
    supervisor = json.loads((of.run / "supervisor.json").read_text())["pid"]
    os.kill(supervisor, signal.SIGKILL)
    os.kill(lost, signal.SIGKILL)
    assert not _status()["supervised"]
    _well("up")
    assert _status()["healthy"]
    assert _pid("etcd") == kept
    assert _pid("kubelet") != lost
    # The new kubelet stands in the old mount namespace and finds the pod's volumes there.
    spaces = {os.readlink(f"/proc/{_pid(name)}/ns/mnt") for name in ("etcd", "kubelet")}
    assert len(spaces) == 1
    assert _container(of) == pod


@pytest.mark.parametrize("component", ["kube-apiserver", "containerd", "etcd", "kubelet"])
def test_restart_of_a_component_leaves_pods_running(of: Cluster, pod: str, component: str) -> None:
    old = _pid(component)
    _well("restart", component)
    assert _pid(component) != old
    assert _status()["healthy"]
    assert _container(of) == pod


def test_unknown_component_is_refused_in_one_line(of: Cluster) -> None:
    done = _cluster("restart", "dockerd")
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "kube-apiserver" in done.stderr


def test_processes_of_the_cluster_see_mounts_that_the_host_does_not(of: Cluster, pod: str) -> None:
    inner = Path(f"/proc/{_pid('kubelet')}/mountinfo").read_text()
    assert "/var/lib/kubelet/pods/" in inner
    assert "/var/lib/kubelet" not in Path("/proc/self/mountinfo").read_text()
