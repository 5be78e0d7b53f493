"""The running cluster's network: Services, names, and policies that are really enforced."""

from __future__ import annotations

import json
import secrets
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.client_pod import client_pod
from tests.cluster.overlay_cluster import ask, run

SERVE = """
import http.server as h
class Ok(h.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
h.ThreadingHTTPServer(("", 8080), Ok).serve_forever()
"""
ASK = "import sys,urllib.request as u; print(u.urlopen(sys.argv[1], timeout=2).status)"


def _apply(*objects: dict[str, Any]) -> None:
    stream = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    ask("apply", "-f", "-", stdin=stream)


def _pod(space: str, name: str, script: str, **container: Any) -> dict[str, Any]:
    command = ["python3", "-c", script]
    return client_pod(name, command, namespace=space, app=name, container=container)


@pytest.fixture(scope="module")
def space() -> Iterator[str]:
    """A namespace with a server, its Service and two clients; gone afterwards."""
    name = f"network-test-{secrets.token_hex(3)}"
    _apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    idle = "import signal; signal.pause()"
    probe = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1, "timeoutSeconds": 2}
    ports = [{"port": 80, "targetPort": 8080}]
    try:
        _apply(
            _pod(name, "server", SERVE, readinessProbe=probe),
            _pod(name, "friend", idle),
            _pod(name, "stranger", idle),
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "server", "namespace": name},
                "spec": {"selector": {"app": "server"}, "ports": ports},
            },
        )
        ask("-n", name, "wait", "--for=condition=Ready", "pod", "--all", "--timeout=90s")
        yield name
    finally:
        ask("delete", "namespace", name, "--wait=false")


def _asks(space: str, client: str, url: str) -> bool:
    words = ["-n", space, "exec", client, "--", "python3", "-c", ASK, url]
    return run(*words).stdout.strip() == "200"


def _addresses(space: str) -> tuple[str, str]:
    """URLs of the server by its Service and by its pod."""
    service = ask("-n", space, "get", "service", "server", "-o", "jsonpath={.spec.clusterIP}")
    pod = ask("-n", space, "get", "pod", "server", "-o", "jsonpath={.status.podIP}")
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
        assert ask("-n", space, "get", "pod", "server", "-o", ready) == "true"
    finally:
        ask("-n", space, "delete", "networkpolicy", "--all")
    assert _asks(space, "stranger", service)
