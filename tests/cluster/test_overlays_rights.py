"""What the controller may do, asked of the API server with the controller's own identity."""

from __future__ import annotations

import pytest

from tests.cluster import overlay_cluster as cluster

LANES, SLOTS, CONTROL = "switchyard", "switchyard-slots", "switchyard-rollout"

MAY = [
    ("patch", "services/s3", SLOTS),
    ("patch", "deployments/gateway-blue", LANES),
    ("patch", "services/assistant-c5", LANES),
    ("list", "endpointslices", LANES),
    ("patch", "deployments/postgres-staging", "switchyard-staging"),
    ("update", "configmaps/journal", CONTROL),
    ("get", "configmaps/trust", CONTROL),
    ("get", "secrets/scenario-tokens", CONTROL),
    ("update", "leases/rollout", CONTROL),
    ("list", "pods", "switchyard-dns"),
]
MAY_NOT = [
    ("delete", "services/s3", SLOTS),
    ("patch", "services/s7", SLOTS),
    ("create", "pods", LANES),
    ("patch", "deployments/other", LANES),
    ("get", "secrets/data-credentials", LANES),
    ("list", "secrets", CONTROL),
    ("get", "secrets/data-credentials", "switchyard-data"),
    ("patch", "deployments/split-dns", "switchyard-dns"),
    ("patch", "deployments/rollout", CONTROL),
    ("patch", "roles/rollout", CONTROL),
    ("create", "rolebindings", LANES),
    ("patch", "networkpolicies/default-deny", LANES),
    ("create", "pods/exec", LANES),
    ("create", "namespaces", ""),
    ("list", "secrets", "kube-system"),
]


def can(verb: str, what: str, namespace: str) -> str:
    where = ("-n", namespace) if namespace else ()
    return cluster.run("auth", "can-i", verb, what, *where, f"--as={cluster.CONTROLLER}").stdout


@pytest.mark.parametrize(("verb", "what", "namespace"), MAY)
def test_the_controller_may_do_its_work(verb, what, namespace):
    assert can(verb, what, namespace).startswith("yes")


@pytest.mark.parametrize(("verb", "what", "namespace"), MAY_NOT)
def test_the_controller_may_do_nothing_else(verb, what, namespace):
    assert can(verb, what, namespace).startswith("no")
