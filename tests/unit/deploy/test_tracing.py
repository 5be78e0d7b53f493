"""The one overlay that is privileged says what it needs, and needs no more."""

from __future__ import annotations

import pytest

from rollout.pod_security import weaknesses
from rollout.render import render
from tests.tree import ROOT, copy_deploy
from tests.unit.deploy.test_policies import ROLLOUT, Picture, Pod, lane


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    return render(copy_deploy(tmp_path_factory.mktemp("tree")), "deploy/overlays/tracing")


@pytest.fixture(scope="module")
def pod(objects):
    (agent,) = [item for item in objects if item["kind"] == "DaemonSet"]
    return agent["spec"]["template"]["spec"]


def test_what_it_has_beyond_a_restricted_pod_is_this_and_no_more(pod):
    assert list(weaknesses(pod)) == [
        "hostPID is set",
        "container tracing does not run as a numbered user other than root",
        "container tracing has no seccomp profile",
        "container tracing adds capabilities",
    ]
    (container,) = pod["containers"]
    security = container["securityContext"]
    assert security["capabilities"] == {
        "drop": ["ALL"],
        "add": ["SYS_ADMIN", "SYS_PTRACE", "DAC_READ_SEARCH"],
    }
    assert security["allowPrivilegeEscalation"] is False
    assert security["readOnlyRootFilesystem"] is True
    assert "privileged" not in security
    assert not any("hostPath" in volume for volume in pod["volumes"])


def test_only_its_own_namespace_lets_it_in(objects):
    levels = {
        item["metadata"]["name"]: item["metadata"]["labels"]["pod-security.kubernetes.io/enforce"]
        for item in objects
        if item["kind"] == "Namespace"
    }
    assert levels == {"switchyard-tracing": "privileged"}
    workloads = [item for item in objects if "template" in item.get("spec", {})]
    assert {item["metadata"]["namespace"] for item in workloads} == {"switchyard-tracing"}


def test_it_may_list_the_lanes_pods_and_the_controller_its_own_and_nothing_else(objects):
    rules = {
        (item["kind"], item["metadata"]["namespace"]): item["rules"]
        for item in objects
        if item["kind"].endswith("Role")
    }
    listing = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    assert rules == {("Role", "switchyard"): listing, ("Role", "switchyard-tracing"): listing}
    given = {
        item["metadata"]["namespace"]: [one["namespace"] for one in item["subjects"]]
        for item in objects
        if item["kind"].endswith("RoleBinding")
    }
    assert given == {
        "switchyard": ["switchyard-tracing"],
        "switchyard-tracing": ["switchyard-rollout"],
    }


def test_it_never_takes_more_than_half_a_cpu_and_keeps_less_than_its_disk(pod):
    (container,) = pod["containers"]
    assert container["resources"]["limits"]["cpu"] == "500m"
    (megabytes,) = [arg.split("=")[1] for arg in container["args"] if "--megabytes" in arg]
    (limit,) = [v["emptyDir"]["sizeLimit"] for v in pod["volumes"] if v["name"] == "recording"]
    # Two files: the full one and the one being written.
    assert limit == "1Gi"
    assert 2 * int(megabytes) < 1024


def test_gateways_and_the_controller_may_ask_it_and_nobody_else(objects):
    picture = Picture(objects)
    agent = Pod("switchyard-tracing", {"app": "tracing"})
    for asker, may in (
        (lane("gateway", "blue"), True),
        (ROLLOUT, True),
        (lane("pipeline", "blue"), False),
        (Pod("switchyard-staging", {"app": "gateway"}), False),
        (Pod("default"), False),
    ):
        assert picture.allows(asker, agent, 9102) is may


def test_who_asks_is_answered_by_the_agent_of_his_own_node(objects, pod):
    (service,) = [item for item in objects if item["kind"] == "Service"]
    assert service["spec"]["internalTrafficPolicy"] == "Local"
    assert service["spec"]["selector"] == {"app": "tracing"}
    (port,) = service["spec"]["ports"]
    numbers = {p["name"]: p["containerPort"] for p in pod["containers"][0]["ports"]}
    assert numbers[port["targetPort"]] == port["port"] == 9102


@pytest.mark.parametrize("part", ["gateway", "pipeline"])
def test_the_packages_that_a_pod_prepares_for_tracers_exist(rendered, part):
    (found,) = [
        item
        for item in rendered["prod/blue"]
        if (item["kind"], item["metadata"]["name"]) == ("Deployment", f"{part}-blue")
    ]
    (container,) = found["spec"]["template"]["spec"]["containers"]
    (names,) = [one["value"] for one in container["env"] if one["name"] == "PROBES"]
    for name in names.split(","):
        module = ROOT.joinpath(*name.removeprefix("-").split("."))
        assert module.is_dir() or module.with_suffix(".py").is_file(), name
