"""The network policies are enforced: who may reach whom, tried from real pods."""

from __future__ import annotations

import json

import pytest

from tests.client_pod import python_image
from tests.cluster import overlay_cluster as cluster

TRY = """
import socket, sys
address, port = sys.argv[1], int(sys.argv[2])
try:
    socket.create_connection((address, port), timeout=2).close()
    print("open")
except OSError as bad:
    print(type(bad).__name__)
"""
ASK = """
import socket, sys
query = bytes.fromhex("beef01000001000000000000") + b"".join(
    bytes([len(part)]) + part.encode() for part in "assistant.split.cluster.local".split(".")
) + bytes.fromhex("0000010001")
link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
link.settimeout(3)
link.sendto(query, (sys.argv[1], 53))
print("answered" if link.recv(512)[:2] == query[:2] else "strange")
"""


def address(namespace: str, service: str) -> str:
    (found,) = [s for s in cluster.get("svc", namespace) if s["metadata"]["name"] == service]
    return str(found["spec"]["clusterIP"])


def pod_address(namespace: str, labels: str) -> str:
    return str(cluster.get("pods", namespace, "-l", labels)[0]["status"]["podIP"])


def reach(namespace: str, pod: str, target: str, port: int) -> str:
    words = ("exec", pod, "-n", namespace, "--", "python3", "-c", TRY, target, str(port))
    return cluster.ask(*words).strip()


@pytest.fixture(scope="module")
def asker():
    with cluster.client("switchyard-clients") as name:
        yield name


@pytest.fixture(scope="module")
def stranger():
    with cluster.client("default") as name:
        yield name


@pytest.fixture(scope="module")
def serving():
    role = next(s for s in cluster.get("svc", "switchyard") if "assistant" in s["metadata"]["name"])
    return role["spec"]["selector"]["lane"]


def test_a_client_reaches_the_assistant(asker):
    target = address("switchyard", "assistant-stable")
    assert reach("switchyard-clients", asker, target, 80) == "open"


def test_a_client_reaches_nothing_behind_the_gateway(asker, serving):
    closed = {
        "the admin port": (pod_address("switchyard", f"app=gateway,lane={serving}"), 8081),
        "a lane of its choice": (address("switchyard", f"lane-{serving}"), 80),
        "the pipeline": (address("switchyard", f"pipeline-{serving}"), 8001),
        "the tickets": (address("switchyard", f"tickets-{serving}"), 8080),
        "the database": (address("switchyard-data", "postgres"), 5432),
        "the controller": (address("switchyard-rollout", "rollout"), 80),
    }
    tried = {name: reach("switchyard-clients", asker, *target) for name, target in closed.items()}
    assert tried == dict.fromkeys(closed, "TimeoutError")


def test_a_pod_of_another_namespace_reaches_no_gateway(stranger):
    target = address("switchyard", "assistant-stable")
    assert reach("default", stranger, target, 80) == "TimeoutError"


def test_a_client_may_ask_the_split_dns_itself(asker):
    words = ("exec", asker, "-n", "switchyard-clients", "--", "python3", "-c", ASK)
    assert cluster.ask(*words, address("switchyard-dns", "split-dns")).strip() == "answered"


def test_a_stranger_may_not_ask_the_split_dns_itself(stranger):
    words = ("exec", stranger, "-n", "default", "--", "python3", "-c", ASK)
    done = cluster.run(*words, address("switchyard-dns", "split-dns"))
    assert "timed out" in done.stderr


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hostNetwork", True),
        ("volumes", [{"name": "root", "hostPath": {"path": "/"}}]),
        ("securityContext", {"runAsUser": 0}),
    ],
)
def test_a_pod_that_is_not_restricted_is_refused(field, value):
    spec = {"containers": [{"name": "c", "image": python_image()}], field: value}
    metadata = {"name": "refused", "namespace": "switchyard"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    done = cluster.run("apply", "--dry-run=server", "-f", "-", stdin=json.dumps(pod))
    assert 'violates PodSecurity "restricted' in done.stderr
