"""The report names what a person needs; on another's cluster also what its admin must add."""

from __future__ import annotations

from deploy.addresses import report
from deploy.target import Target


class Cluster:
    """Services with the address 192.0.2.1, apart from the tickets', which is not there."""

    def get(self, kind, name, namespace):
        assert kind == "service"
        return None if name.startswith("tickets") else {"spec": {"clusterIP": "192.0.2.1"}}


def target(local):
    return Target(kubeconfig="k", local=local, registry="r", volumes=None)


def test_addresses_and_tokens_are_told_without_the_tokens_themselves():
    text = report(Cluster(), target(local=True), "blue")
    assert "http://assistant.split.cluster.local/" in text
    assert "http://192.0.2.1/" in text
    assert "kubectl -n switchyard-clients get secret demo-tokens" in text
    assert "tickets     http://none:8080/" in text


def test_our_own_cluster_needs_no_advice_about_dns():
    assert "dnsConfig" not in report(Cluster(), target(local=True), "blue")


def test_anothers_cluster_gets_the_stub_block_and_the_dns_of_a_pod():
    text = report(Cluster(), target(local=False), "green")
    assert "was not touched" in text
    assert "assistant.split.cluster.local:53 {\n    errors\n    forward . 192.0.2.1\n}" in text
    assert "nameservers: [192.0.2.1]" in text
    assert "dnsPolicy: None" in text
