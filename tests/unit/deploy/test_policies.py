"""The picture of who may reach whom, asked as questions of the rendered policies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

SPACES = ("switchyard", "switchyard-staging", "switchyard-data", "switchyard-dns")
SPACES += ("switchyard-slots", "switchyard-rollout", "switchyard-clients")


@dataclass(frozen=True)
class Pod:
    """A pod as policies see it."""

    namespace: str
    labels: dict[str, str] = field(default_factory=dict)


def lane(app: str, name: str) -> Pod:
    return Pod("switchyard", {"app": app, "lane": name})


CLIENT = Pod("switchyard-clients")
ROLLOUT = Pod("switchyard-rollout", {"app": "rollout"})
POSTGRES = Pod("switchyard-data", {"app": "postgres"})
MIGRATE = Pod("switchyard-data", {"app": "migrate"})
LOADER = Pod("switchyard-data", {"app": "loader"})
SPLIT_DNS = Pod("switchyard-dns", {"app": "split-dns"})
CLUSTER_DNS = Pod("kube-system", {"k8s-app": "kube-dns"})
STRANGER = Pod("default")


def selects(selector: dict[str, Any] | None, labels: dict[str, str]) -> bool:
    """A label selector as Kubernetes reads it, with the one operator that we use."""
    chosen = selector or {}
    pairs = chosen.get("matchLabels", {}).items()
    rules = chosen.get("matchExpressions", [])
    return all(labels.get(key) == value for key, value in pairs) and all(
        labels.get(rule["key"]) in rule["values"] for rule in rules
    )


class Picture:
    """NetworkPolicies, evaluated."""

    def __init__(self, objects: list[dict[str, Any]]) -> None:
        self.policies = [item for item in objects if item["kind"] == "NetworkPolicy"]
        self.spaces = {
            item["metadata"]["name"]: item["metadata"].get("labels", {})
            for item in objects
            if item["kind"] == "Namespace"
        }

    def allows(self, source: Pod, target: Pod, port: int, protocol: str = "TCP") -> bool:
        return self._one(source, target, port, protocol, "Egress") and self._one(
            target, source, port, protocol, "Ingress"
        )

    def _one(self, pod: Pod, peer: Pod, port: int, protocol: str, way: str) -> bool:
        about = [
            policy["spec"]
            for policy in self.policies
            if policy["metadata"]["namespace"] == pod.namespace
            and way in policy["spec"]["policyTypes"]
            and selects(policy["spec"]["podSelector"], pod.labels)
        ]
        rules = [rule for spec in about for rule in spec.get(way.lower(), [])]
        side = "to" if way == "Egress" else "from"
        return not about or any(
            self._port(rule, port, protocol)
            and (side not in rule or any(self._peer(one, pod, peer) for one in rule[side]))
            for rule in rules
        )

    def _port(self, rule: dict[str, Any], port: int, protocol: str) -> bool:
        ports = rule.get("ports")
        return not ports or {"port": port, "protocol": protocol} in ports

    def _peer(self, rule: dict[str, Any], pod: Pod, peer: Pod) -> bool:
        if "ipBlock" in rule:
            return False
        labels = {"kubernetes.io/metadata.name": peer.namespace} | self.spaces.get(
            peer.namespace, {}
        )
        space = rule.get("namespaceSelector")
        right_space = (
            selects(space, labels) if space is not None else peer.namespace == pod.namespace
        )
        return right_space and selects(rule.get("podSelector"), peer.labels)


@pytest.fixture(scope="module")
def picture(rendered):
    return Picture(rendered["platform"])


@pytest.mark.parametrize("namespace", SPACES)
def test_every_namespace_denies_both_ways_by_default(picture, namespace):
    denials = [
        policy["spec"]
        for policy in picture.policies
        if policy["metadata"]["namespace"] == namespace
        and policy["metadata"]["name"] == "default-deny"
    ]
    assert denials == [{"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}]


ALLOWED = [
    (CLIENT, lane("gateway", "blue"), 8080),
    (CLIENT, lane("gateway", "green"), 8080),
    (ROLLOUT, lane("gateway", "blue"), 8080),
    (ROLLOUT, lane("gateway", "green"), 8081),
    (ROLLOUT, Pod("switchyard-tracing", {"app": "tracing"}), 9102),
    (ROLLOUT, Pod("switchyard-staging", {"app": "gateway", "lane": "staging"}), 8080),
    (lane("gateway", "blue"), lane("pipeline", "blue"), 8001),
    (lane("pipeline", "green"), lane("tickets", "green"), 8080),
    (lane("gateway", "blue"), POSTGRES, 5432),
    (lane("pipeline", "blue"), POSTGRES, 5432),
    (lane("tickets", "green"), POSTGRES, 5432),
    (MIGRATE, POSTGRES, 5432),
    (LOADER, POSTGRES, 5432),
    (
        Pod("switchyard-staging", {"app": "tickets", "lane": "staging"}),
        Pod("switchyard-staging", {"app": "postgres", "lane": "staging"}),
        5432,
    ),
]


@pytest.mark.parametrize(("source", "target", "port"), ALLOWED)
def test_what_the_picture_shows_is_allowed(picture, source, target, port):
    assert picture.allows(source, target, port)


@pytest.mark.parametrize("protocol", ["UDP", "TCP"])
@pytest.mark.parametrize("source", [CLIENT, CLUSTER_DNS, ROLLOUT])
def test_the_split_dns_answers_clients_the_clusters_dns_and_the_controller(
    picture, source, protocol
):
    assert picture.allows(source, SPLIT_DNS, 53, protocol)


@pytest.mark.parametrize(
    "source", [lane("gateway", "blue"), lane("pipeline", "green"), MIGRATE, LOADER, CLIENT]
)
def test_whoever_calls_by_name_may_ask_the_clusters_dns(picture, source):
    assert picture.allows(source, CLUSTER_DNS, 53, "UDP")


DENIED = [
    (CLIENT, lane("gateway", "blue"), 8081),
    (CLIENT, lane("pipeline", "blue"), 8001),
    (CLIENT, lane("tickets", "blue"), 8080),
    (CLIENT, POSTGRES, 5432),
    (CLIENT, Pod("switchyard-staging", {"app": "gateway", "lane": "staging"}), 8080),
    (CLIENT, ROLLOUT, 8080),
    (STRANGER, lane("gateway", "blue"), 8080),
    (STRANGER, SPLIT_DNS, 53),
    (lane("gateway", "blue"), lane("pipeline", "green"), 8001),
    (lane("pipeline", "blue"), lane("tickets", "green"), 8080),
    (lane("gateway", "blue"), lane("tickets", "blue"), 8080),
    (lane("pipeline", "blue"), lane("gateway", "blue"), 8080),
    (lane("gateway", "blue"), Pod("switchyard-staging", {"app": "postgres"}), 5432),
    (Pod("switchyard-staging", {"app": "tickets", "lane": "staging"}), POSTGRES, 5432),
    (POSTGRES, lane("gateway", "blue"), 8080),
    (LOADER, lane("gateway", "blue"), 8080),
    (POSTGRES, CLUSTER_DNS, 53),
    (Pod("switchyard-slots"), lane("gateway", "blue"), 8080),
    (ROLLOUT, POSTGRES, 5432),
    (ROLLOUT, lane("pipeline", "blue"), 8001),
]


@pytest.mark.parametrize(("source", "target", "port"), DENIED)
def test_what_the_picture_does_not_show_is_denied(picture, source, target, port):
    assert not picture.allows(source, target, port)


@pytest.mark.parametrize("overlay", ["prod/blue", "prod/green", "staging"])
def test_a_lanes_own_service_leads_to_a_port_that_clients_are_not_let_in_on(rendered, overlay):
    (service,) = [o for o in rendered[overlay] if o["metadata"]["name"].startswith("lane-")]
    (port,) = service["spec"]["ports"]
    (gateway,) = [
        o
        for o in rendered[overlay]
        if o["kind"] == "Deployment" and o["metadata"]["labels"]["app"] == "gateway"
    ]
    ports = gateway["spec"]["template"]["spec"]["containers"][0]["ports"]
    numbers = {entry["name"]: entry["containerPort"] for entry in ports}
    assert numbers[port["targetPort"]] == 8081
