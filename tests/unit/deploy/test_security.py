"""Every workload is as restricted as it can be, in namespaces that enforce it."""

from __future__ import annotations

import pytest

from rollout import lint
from rollout.pod_security import weaknesses
from tests.tree import OVERLAYS

WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Job")
# The enforcer of network policies: node network, root, NET_ADMIN; local only.
EXEMPT = {"network-policies"}
LEVEL = "pod-security.kubernetes.io/enforce"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_workload_is_restricted(rendered, overlay):
    found = {
        item["metadata"]["name"]: list(
            weaknesses(item["spec"]["template"]["spec"], probes=item["kind"] != "Job")
        )
        for item in rendered[overlay]
        if item["kind"] in WORKLOADS and item["metadata"]["name"] not in EXEMPT
    }
    assert {name: what for name, what in found.items() if what} == {}


def test_the_enforcer_has_one_capability_and_no_more(rendered):
    (enforcer,) = [item for item in rendered["local"] if item["kind"] == "DaemonSet"]
    (container,) = enforcer["spec"]["template"]["spec"]["containers"]
    own = container["securityContext"]
    assert own["capabilities"] == {"drop": ["ALL"], "add": ["NET_ADMIN"]}
    assert own["allowPrivilegeEscalation"] is False
    assert own["readOnlyRootFilesystem"] is True
    assert "volumes" not in enforcer["spec"]["template"]["spec"]


def test_every_namespace_enforces_the_level_restricted(rendered):
    spaces = [item for item in rendered["platform"] if item["kind"] == "Namespace"]
    assert len(spaces) == 7
    assert {item["metadata"]["labels"][LEVEL] for item in spaces} == {"restricted"}


def test_only_what_watches_the_cluster_has_an_api_token(rendered):
    with_token = {
        item["metadata"]["name"]
        for objects in rendered.values()
        for item in objects
        if item["kind"] in WORKLOADS
        and item["spec"]["template"]["spec"]["automountServiceAccountToken"]
    }
    assert with_token == {"rollout", "split-dns", "cluster-dns", "network-policies"}


def test_a_lane_never_holds_the_superusers_password(rendered):
    for overlay in ("canary/blue", "canary/green", "prod/blue", "prod/green"):
        for item in rendered[overlay]:
            pod = item.get("spec", {}).get("template", {}).get("spec", {})
            for container in pod.get("containers", []):
                refs = [env.get("valueFrom", {}).get("secretKeyRef") for env in container["env"]]
                assert not any(ref and ref["key"] == "postgres" for ref in refs)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_lint_of_the_controller_has_nothing_to_say(rendered, overlay):
    head = overlay.split("/")[0]
    kind = head if head in ("canary", "prod", "staging") else "platform"
    assert [str(finding) for finding in lint.lint(rendered[overlay], kind)] == []
