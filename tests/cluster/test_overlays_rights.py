"""What the controller may do, asked of the API server with the controller's own identity."""

from __future__ import annotations

import pytest

from tests.cluster import overlay_cluster as cluster

LANES, SLOTS, CONTROL = "switchyard", "switchyard-slots", "switchyard-rollout"
GATEWAY = {"app": "gateway", "lane": "blue"}

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


def service(name: str, namespace: str = LANES, **spec: object) -> dict[str, object]:
    metadata = {"name": name, "namespace": namespace}
    full = {"ports": [{"port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": full}


def configmap(name: str, namespace: str = CONTROL) -> dict[str, object]:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"test": "x"}}


def slot(name: str, host: str) -> dict[str, object]:
    metadata = {"name": name, "namespace": SLOTS}
    spec = {"type": "ExternalName", "externalName": host}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def part(name: str, **pod: object) -> dict[str, object]:
    metadata = {"name": name, "namespace": LANES}
    labels = dict(GATEWAY)
    container = {"name": "c", "image": cluster.python_image()}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container], **pod}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


ALLOWED = [
    service("assistant-c5", selector=GATEWAY),
    service("assistant-c5", selector={**GATEWAY, "lane": "green"}),
    configmap("release-900"),
    configmap("words-blue", LANES),
    configmap("words-green-6ghd2gcmd9", LANES),
]


@pytest.mark.parametrize("wished", ALLOWED, ids=lambda item: item["metadata"]["name"])
def test_admission_lets_the_controllers_own_objects_in(wished):
    done = cluster.as_controller(wished)
    assert done.returncode == 0, done.stderr


REFUSED = [
    (configmap("trust"), "settings and trust are the admin's"),
    (configmap("rollout-settings"), "settings and trust are the admin's"),
    (configmap("kube-root-ca.crt", LANES), "ends in its lane"),
    (service("evil", selector=GATEWAY), "nothing else"),
    (service("assistant-c5", selector={"app": "postgres"}), "selects the gateways of one lane"),
    (service("assistant-c5", selector={**GATEWAY, "lane": "staging"}), "blue or green"),
    (service("assistant-c5", selector=GATEWAY, type="NodePort"), "type ClusterIP"),
    (service("assistant-c5", selector=GATEWAY, externalIPs=["192.0.2.1"]), "no external address"),
    (slot("s3", "example.com"), "a slot is an ExternalName naming a role Service"),
    (slot("s3", "postgres.switchyard-data.svc.cluster.local"), "naming a role Service"),
    (part("gateway-blue", serviceAccountName="rollout"), "no service account of its own"),
    (part("gateway-blue", automountServiceAccountToken=True), "no API token"),
]


@pytest.mark.parametrize(("wished", "said"), REFUSED)
def test_admission_refuses_what_names_alone_cannot(wished, said):
    done = cluster.as_controller(wished)
    assert done.returncode != 0
    assert said in done.stderr
