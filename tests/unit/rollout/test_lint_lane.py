"""A candidate speaks for its own lane only, and carries no mark of the controller."""

from __future__ import annotations

import copy

import pytest

from rollout.lint import lint
from rollout.names import EPOCH, PREVIOUS_LANE, RELEASE, ROLE
from rollout.render import render
from tests.tree import copy_deploy


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    tree = copy_deploy(tmp_path_factory.mktemp("lanes"))
    overlays = ("canary/blue", "canary/green", "prod/blue", "prod/green", "staging")
    return {overlay: render(tree, f"deploy/overlays/{overlay}") for overlay in overlays}


@pytest.fixture
def objects(rendered):
    return copy.deepcopy(rendered["prod/blue"])


def one(objects, kind, name="gateway-blue"):
    (found,) = [
        item for item in objects if (item["kind"], item["metadata"]["name"]) == (kind, name)
    ]
    return found


def only(findings):
    (finding,) = findings
    assert "\n" not in str(finding)
    return finding


def scaler(target):
    labels = {"app": "gateway", "lane": "blue"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "gateway-blue", "namespace": "switchyard", "labels": labels},
        "spec": {"maxReplicas": 4, "scaleTargetRef": {"kind": "Deployment", "name": target}},
    }


def test_our_own_overlays_have_no_finding(rendered):
    for overlay, objects in rendered.items():
        assert [str(finding) for finding in lint(objects, overlay.split("/")[0])] == []


@pytest.mark.parametrize("kind", ["Service", "ConfigMap", "PodDisruptionBudget"])
def test_an_object_of_the_other_lane_is_found(rendered, objects, kind):
    other = next(item for item in rendered["prod/green"] if item["kind"] != "Deployment")
    objects.append({**other, "kind": kind})
    findings = lint(objects, "prod")
    assert {finding.code for finding in findings} == {"lane"}
    assert findings[0].what == "its name does not end in -blue"


def test_a_name_that_is_only_a_lane_is_found(objects):
    one(objects, "Service", "tickets-blue")["metadata"]["name"] = "blue"
    assert only(lint(objects, "prod")).what == "its name does not end in -blue"


@pytest.mark.parametrize("lane", ["green", "stable", None])
@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("Service", "metadata.labels"),
        ("PodDisruptionBudget", "metadata.labels"),
        ("PodDisruptionBudget", "spec.selector.matchLabels"),
        ("Deployment", "spec.selector.matchLabels"),
        ("Deployment", "spec.template.metadata.labels"),
    ],
)
def test_a_lane_label_that_is_not_the_lanes_is_found(objects, kind, path, lane):
    here = one(objects, kind, "pipeline-blue")
    for key in path.split("."):
        here = here[key]
    here["lane"] = lane
    finding = only(lint(objects, "prod"))
    assert (finding.code, finding.what) == ("lane", f"{path}.lane is {lane!r}, not blue")


def test_a_service_without_a_selector_is_found(objects):
    del one(objects, "Service", "tickets-blue")["spec"]["selector"]
    finding = only(lint(objects, "prod"))
    assert finding.what == "spec.selector is not {'app': 'tickets', 'lane': 'blue'}"


@pytest.mark.parametrize(
    "selector",
    [{"lane": "blue"}, {"app": "gateway", "lane": "blue"}, {"app": "tickets", "lane": "green"}],
)
def test_a_part_is_reached_by_its_own_pods_only(objects, selector):
    one(objects, "Service", "tickets-blue")["spec"]["selector"] = selector
    finding = only(lint(objects, "prod"))
    assert (finding.code, finding.where) == ("service", "Service tickets-blue")


@pytest.mark.parametrize("app", ["tickets", "postgres", None])
@pytest.mark.parametrize(
    ("kind", "path"),
    [
        ("PodDisruptionBudget", "spec.selector.matchLabels"),
        ("Deployment", "metadata.labels"),
        ("Deployment", "spec.selector.matchLabels"),
        ("Deployment", "spec.template.metadata.labels"),
    ],
)
def test_pods_of_another_part_are_found(objects, kind, path, app):
    here = one(objects, kind, "pipeline-blue")
    for key in path.split("."):
        here = here[key]
    here["app"] = app
    finding = only(lint(objects, "prod"))
    assert (finding.code, finding.what) == ("part", f"{path}.app is {app!r}, not pipeline")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("Service", "more-blue"),
        ("Service", "gateway-blue"),
        ("Service", "postgres-blue"),
        ("Service", "lane-blue-blue"),
        ("Deployment", "lane-blue"),
        ("Deployment", "gateway-blue-blue"),
        ("PodDisruptionBudget", "postgres-blue"),
        ("HorizontalPodAutoscaler", "more-blue"),
    ],
)
def test_a_part_that_the_controller_has_no_rights_for_is_found(objects, kind, name):
    item = (
        scaler(name) if kind == "HorizontalPodAutoscaler" else one(objects, kind, "pipeline-blue")
    )
    item["metadata"]["name"] = name
    if item not in objects:
        objects.append(item)
    findings = lint(objects, "prod")
    assert "part" in {finding.code for finding in findings}
    assert f"{name.removesuffix('-blue')} is no part of a lane" in [one.what for one in findings]


@pytest.mark.parametrize("name", ["assistant-c9", "assistant-stable", "assistant-c9-blue"])
def test_a_service_named_as_a_role_is_found(objects, name):
    one(objects, "Service", "lane-blue")["metadata"]["name"] = name
    said = {(finding.code, finding.what) for finding in lint(objects, "prod")}
    assert ("owned", "it is a role or a slot") in said


def test_an_autoscaler_of_its_own_lane_is_allowed(objects):
    assert lint([*objects, scaler("gateway-blue")], "prod") == []


@pytest.mark.parametrize("target", ["gateway-green", "gateway", "tickets-blue", None])
def test_an_autoscaler_of_the_other_lane_is_found(objects, target):
    finding = only(lint([*objects, scaler(target)], "prod"))
    assert (finding.code, finding.where) == ("lane", "HorizontalPodAutoscaler gateway-blue")


@pytest.mark.parametrize("labels", [{"lane": "green"}, {"lane": "red"}, {}, None])
def test_deployments_that_do_not_agree_on_a_lane_are_found(objects, labels):
    one(objects, "Deployment")["metadata"]["labels"] = labels
    finding = only(lint(objects, "prod"))
    assert (finding.code, finding.where) == ("lane", "overlay prod")


def test_a_candidate_without_a_deployment_is_found(objects):
    rest = [item for item in objects if item["kind"] != "Deployment"]
    assert only(lint(rest, "prod")).where == "overlay prod"


def test_staging_cannot_hold_a_lane_and_a_lane_cannot_be_staging(rendered):
    assert "overlay staging" in {
        finding.where for finding in lint(rendered["prod/blue"], "staging")
    }
    assert "overlay prod" in {finding.where for finding in lint(rendered["staging"], "prod")}


@pytest.mark.parametrize("mark", [EPOCH, PREVIOUS_LANE, RELEASE, ROLE])
@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_a_mark_of_the_controller_is_found(objects, mark, field):
    one(objects, "Service", "tickets-blue")["metadata"].setdefault(field, {})[mark] = "1"
    finding = only(lint(objects, "prod"))
    assert (finding.code, finding.what) == ("owned", f"metadata.{field} has {mark}")


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_a_mark_of_the_controller_is_found_on_pods(rendered, field):
    objects = copy.deepcopy(rendered["staging"])
    template = one(objects, "Deployment", "gateway-staging")["spec"]["template"]
    template["metadata"].setdefault(field, {})[ROLE] = "stable"
    finding = only(lint(objects, "staging"))
    assert finding.what == f"spec.template.metadata.{field} has {ROLE}"


@pytest.mark.parametrize("name", ["lane-blue", "tickets-blue"])
@pytest.mark.parametrize(
    "change",
    [
        {"type": "NodePort"},
        {"type": "LoadBalancer"},
        {"type": "ExternalName"},
        {"externalIPs": ["192.0.2.1"]},
        {"publishNotReadyAddresses": True},
    ],
)
def test_a_service_that_is_not_plain_is_found(objects, name, change):
    one(objects, "Service", name)["spec"].update(change)
    findings = lint(objects, "prod")
    assert findings
    assert {finding.code for finding in findings} <= {"service", "owned"}


def port(**change):
    return {"name": "http", "port": 80, "targetPort": "admin", **change}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"selector": {"lane": "blue"}}, "spec.selector"),
        ({"selector": {"app": "tickets", "lane": "blue"}}, "spec.selector"),
        ({"selector": {"app": "gateway", "lane": "blue", "more": "x"}}, "spec.selector"),
        ({"ports": None}, "spec.ports"),
        ({"ports": 80}, "spec.ports"),
        ({"ports": ["80"]}, "spec.ports"),
        ({"ports": [port(targetPort="http")]}, "spec.ports"),
        ({"ports": [port(targetPort=8080)]}, "spec.ports"),
        ({"ports": [port(port=81)]}, "spec.ports"),
        ({"ports": [port(protocol="UDP")]}, "spec.ports"),
        ({"ports": [port(nodePort=30080)]}, "spec.ports"),
        ({"ports": [port(), port(name="more", port=81)]}, "spec.ports"),
        ({"sessionAffinity": "ClientIP"}, "spec.sessionAffinity"),
        ({"clusterIP": "None"}, "spec.clusterIP"),
    ],
)
def test_the_entrance_of_a_lane_is_exactly_as_scenarios_need_it(objects, change, said):
    one(objects, "Service", "lane-blue")["spec"].update(change)
    finding = only(lint(objects, "prod"))
    assert finding.code == "service"
    assert said in finding.what


@pytest.mark.parametrize("change", [{"targetPort": 8081}, {"protocol": "TCP"}, {"name": "x"}])
def test_the_entrance_may_say_the_same_otherwise(objects, change):
    spec = one(objects, "Service", "lane-blue")["spec"]
    spec.update(type="ClusterIP", ports=[port(**change)])
    assert lint(objects, "prod") == []
