"""Somebody else's cluster: KUBECONFIG and REGISTRY name it, and its DNS is never touched.

A throw-away neighbour stands in for it. It comes with what such a cluster has
of its own: a DNS without our stub zone, enforced policies, and a default disk.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deploy.cluster.topology import Cluster, cluster
from deploy.corefile import ZONE
from rollout.render import kubectl, render
from tests.client_pod import client_pod, python_image

ROOT = Path(__file__).parents[2]
NAME = "switchyard-8"
CLIENTS = "switchyard-clients"
POSTGRES_UID = 10001
DNS_SETTINGS = "cluster-dns"
LOOK_UP = f"import socket; print(socket.gethostbyname('{ZONE}'))"
ASK = f"import urllib.request as u; print(u.urlopen('http://{ZONE}/', timeout=5).status)"
IGNORED = (".git", ".venv", "__pycache__", ".*_cache", "images.lock")


@dataclass(frozen=True)
class Foreign:
    """The cluster, a checkout that was built for its registry, and what applying it said."""

    of: Cluster
    tree: Path
    said: str
    dns_before: list[Any]

    def kubectl(self, *words: str, stdin: str | None = None) -> str:
        return _run(
            [kubectl(), f"--kubeconfig={self.of.kubeconfig}", *words], self.tree, {}, stdin=stdin
        )


def _run(command: list[str], folder: Path, more: dict[str, str], stdin: str | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **more},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Foreign]:
    of = cluster({**os.environ, "SWITCHYARD_CLUSTER": NAME})
    own = {"SWITCHYARD_CLUSTER": NAME}
    tree = tmp_path_factory.mktemp("foreign") / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*IGNORED), symlinks=True)
    shutil.rmtree(tree / "deploy/components/images", ignore_errors=True)
    try:
        _run([sys.executable, "-m", "deploy.cluster", "up"], ROOT, own)
        named = {"KUBECONFIG": str(of.kubeconfig), "REGISTRY": of.registry}
        _run([sys.executable, "-m", "images", "build", "--push"], tree, named)
        before = _furnish(of, tree)
        said = _run([sys.executable, "-m", "deploy.apply"], tree, named)
        yield Foreign(of, tree, said, before)
    finally:
        _run([sys.executable, "-m", "deploy.cluster", "down"], ROOT, own)
        shutil.rmtree(of.registry_data, ignore_errors=True)


def _furnish(of: Cluster, tree: Path) -> list[Any]:
    """Give the cluster its own DNS, policy enforcement and default disk; its DNS settings."""
    disk = of.state / "volumes" / "postgres"
    disk.mkdir(parents=True)
    os.chown(disk, POSTGRES_UID, POSTGRES_UID)
    theirs = []
    for item in render(tree, "deploy/overlays/local"):
        if item["kind"] == "StorageClass":
            default = {"storageclass.kubernetes.io/is-default-class": "true"}
            item["metadata"]["annotations"] = default
        elif item["kind"] == "ConfigMap" and DNS_SETTINGS in item["metadata"]["name"]:
            item["data"]["Corefile"] = item["data"]["Corefile"].split("# Without a cache")[0]
        elif item["metadata"].get("namespace") != "kube-system" and not (
            item["kind"] == "PersistentVolume" or item["kind"].startswith("ClusterRole")
        ):
            continue
        theirs.append(item)
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": theirs})
    text = text.replace("10.203.", f"{of.prefix}.").replace("/var/lib/switchyard/", f"{of.state}/")
    made = Foreign(of, tree, "", [])
    made.kubectl("apply", "--server-side", "--field-manager=their-admin", "-f", "-", stdin=text)
    for what in ("deployment/cluster-dns", "daemonset/network-policies"):
        made.kubectl("-n", "kube-system", "rollout", "status", what, "--timeout=120s")
    return _dns(made)


def _dns(foreign: Foreign) -> list[Any]:
    """What of the cluster's DNS could have been edited."""
    words = ("get", "configmaps,deployments,services", "-n", "kube-system", "-o", "json")
    return [
        (item["kind"], item["metadata"]["name"], item.get("spec"), item.get("data"))
        for item in json.loads(foreign.kubectl(*words))["items"]
    ]


def _ask(foreign: Foreign, script: str, **pod: Any) -> str:
    """What a Python script in a client's pod prints."""
    body = client_pod(
        "asker",
        ["python3", "-c", script],
        namespace=CLIENTS,
        app="asker",
        image=python_image(foreign.tree),
        **pod,
    )
    space = ("-n", CLIENTS)
    foreign.kubectl("delete", "pod", "asker", *space, "--ignore-not-found", "--now")
    foreign.kubectl("apply", *space, "-f", "-", stdin=json.dumps(body))
    ended = "--for=jsonpath={.status.phase}=Succeeded"
    foreign.kubectl("wait", "pod/asker", *space, ended, "--timeout=60s")
    return foreign.kubectl("logs", "asker", *space).strip()


def test_everything_becomes_ready_on_the_platform_overlay(foreign):
    assert "The blue lane serves." in foreign.said
    assert "Everything is Ready" in foreign.said


def test_the_clusters_dns_is_left_as_it_was(foreign):
    assert _dns(foreign) == foreign.dns_before


def test_the_printed_dns_config_lets_a_pod_see_the_split(foreign):
    (line,) = [line for line in foreign.said.splitlines() if "nameservers:" in line]
    server = line.split("[")[1].rstrip("]")
    config = {
        "nameservers": [server],
        "searches": ["switchyard-clients.svc.cluster.local", "svc.cluster.local"],
    }
    assert _ask(foreign, ASK, dnsPolicy="None", dnsConfig=config) == "200"


def test_the_printed_stub_block_works_when_the_admin_adds_it(foreign):
    assert f"{ZONE}:53 {{" in foreign.said
    block = f"{ZONE}:53 {{" + foreign.said.split(f"{ZONE}:53 {{")[1].split("}")[0] + "}\n"
    (settings,) = [
        item
        for item in json.loads(
            foreign.kubectl("get", "configmaps", "-n", "kube-system", "-o", "json")
        )["items"]
        if DNS_SETTINGS in item["metadata"]["name"]
    ]
    settings["data"]["Corefile"] += block
    foreign.kubectl("replace", "-f", "-", stdin=json.dumps(settings))
    words = ("-n", "kube-system", "rollout")
    foreign.kubectl(*words, "restart", "deployment/cluster-dns")
    foreign.kubectl(*words, "status", "deployment/cluster-dns", "--timeout=60s")
    stable = foreign.kubectl(
        "get", "svc", "assistant-stable", "-n", "switchyard", "-o", "jsonpath={.spec.clusterIP}"
    )
    assert _ask(foreign, LOOK_UP) == stable
