"""The running cluster's network: Services, names, and policies that are really enforced."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.cluster import topology

REPOSITORY = Path(__file__).parents[2]
KUBECTL = Path(sys.executable).with_name("kubectl")
KUBECONFIG = os.environ.get("KUBECONFIG") or str(topology.cluster().kubeconfig)
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
SERVE = """
import http.server as h
class Ok(h.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
h.ThreadingHTTPServer(("", 8080), Ok).serve_forever()
"""
ASK = "import sys,urllib.request as u; print(u.urlopen(sys.argv[1], timeout=2).status)"


def _kubectl(*words: str, stdin: str | None = None, check: bool = True) -> str:
    return subprocess.run(
        [KUBECTL, f"--kubeconfig={KUBECONFIG}", *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=check,
    ).stdout.strip()


def _apply(*objects: dict[str, Any]) -> None:
    stream = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    _kubectl("apply", "-f", "-", stdin=stream)


def _image() -> str:
    """Any image with Python in it, by digest, from the lock that the image build wrote."""
    lock = yaml.safe_load((REPOSITORY / "images/images.lock").read_text())
    return f"{lock['registry']}/switchyard/rollout@{lock['images']['rollout']['digest']}"


def _pod(space: str, name: str, command: list[str]) -> dict[str, Any]:
    probe = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1, "timeoutSeconds": 2}
    container: dict[str, Any] = {
        "name": "python",
        "image": _image(),
        "command": command,
        "securityContext": RESTRICTED,
    }
    if name == "server":
        container |= {"readinessProbe": probe}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": space, "labels": {"app": name}},
        "spec": {
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 10001,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
        },
    }


@pytest.fixture(scope="module")
def space() -> Iterator[str]:
    """A namespace with a server, its Service and two clients; gone afterwards."""
    name = f"network-test-{secrets.token_hex(3)}"
    _apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    serve = ["python3", "-c", SERVE]
    idle = ["python3", "-c", "import signal; signal.pause()"]
    ports = [{"port": 80, "targetPort": 8080}]
    try:
        _apply(
            _pod(name, "server", serve),
            _pod(name, "friend", idle),
            _pod(name, "stranger", idle),
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "server", "namespace": name},
                "spec": {"selector": {"app": "server"}, "ports": ports},
            },
        )
        _kubectl("-n", name, "wait", "--for=condition=Ready", "pod", "--all", "--timeout=90s")
        yield name
    finally:
        _kubectl("delete", "namespace", name, "--wait=false")


def _asks(space: str, client: str, url: str) -> bool:
    words = ["-n", space, "exec", client, "--", "python3", "-c", ASK, url]
    return _kubectl(*words, check=False) == "200"


def _addresses(space: str) -> tuple[str, str]:
    """URLs of the server by its Service and by its pod."""
    service = _kubectl("-n", space, "get", "service", "server", "-o", "jsonpath={.spec.clusterIP}")
    pod = _kubectl("-n", space, "get", "pod", "server", "-o", "jsonpath={.status.podIP}")
    return f"http://{service}", f"http://{pod}:8080"


def _policy(space: str, name: str, ingress: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": space},
        "spec": {
            "podSelector": {"matchLabels": {"app": "server"}},
            "policyTypes": ["Ingress"],
            "ingress": ingress,
        },
    }


def test_service_answers_the_host_and_a_pod_by_address_and_by_name(space: str) -> None:
    service, _ = _addresses(space)
    with urllib.request.urlopen(service, timeout=5) as response:
        assert response.status == 200
    assert _asks(space, "friend", service)
    assert _asks(space, "friend", f"http://server.{space}.svc.cluster.local")


def test_pod_has_no_way_out_of_the_machine(space: str) -> None:
    assert not _asks(space, "friend", "http://192.0.2.1")


def test_deny_all_blocks_and_a_label_admits_while_probes_pass(space: str) -> None:
    service, pod = _addresses(space)
    _apply(_policy(space, "deny", []))
    try:
        assert not any(_asks(space, "friend", url) for url in (service, pod))
        friends = [{"from": [{"podSelector": {"matchLabels": {"app": "friend"}}}]}]
        _apply(_policy(space, "admit", friends))
        assert all(_asks(space, "friend", url) for url in (service, pod))
        assert not any(_asks(space, "stranger", url) for url in (service, pod))
        ready = "jsonpath={.status.containerStatuses[0].ready}"
        assert _kubectl("-n", space, "get", "pod", "server", "-o", ready) == "true"
    finally:
        _kubectl("-n", space, "delete", "networkpolicy", "--all")
    assert _asks(space, "stranger", service)
