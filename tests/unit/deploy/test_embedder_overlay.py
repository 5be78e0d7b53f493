"""The embeddings for others: an overlay of its own, restricted, reached by whom the admin names."""

from __future__ import annotations

import pytest

from rollout.lint import lint
from rollout.pod_security import weaknesses
from rollout.render import render
from tests.tree import copy_deploy
from tests.unit.deploy.test_policies import CLUSTER_DNS, LOADER, STRANGER, Picture, Pod, lane

SPACE = "switchyard-embedder"
EMBEDDER = Pod(SPACE, {"app": "embedder"})


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    return render(copy_deploy(tmp_path_factory.mktemp("tree")), "deploy/overlays/embedder")


@pytest.fixture(scope="module")
def deployment(objects):
    (found,) = [item for item in objects if item["kind"] == "Deployment"]
    return found


def test_its_pod_has_no_right_and_the_lint_of_the_controller_has_nothing_to_say(
    objects, deployment
):
    pod = deployment["spec"]["template"]["spec"]
    assert list(weaknesses(pod)) == []
    assert pod["automountServiceAccountToken"] is False
    assert [str(finding) for finding in lint(objects, "platform")] == []
    (space,) = [item for item in objects if item["kind"] == "Namespace"]
    assert space["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


def test_everything_is_in_its_own_namespace(objects):
    spaces = {item["metadata"].get("namespace") for item in objects if item["kind"] != "Namespace"}
    assert spaces == {SPACE}


def test_nothing_of_it_is_applied_unless_the_admin_wants_it(rendered):
    names = {
        f"{item['metadata'].get('namespace', '')} {item['metadata']['name']}"
        for objects in rendered.values()
        for item in objects
    }
    assert not [name for name in names if "embedder" in name]


def test_only_namespaces_with_the_label_reach_it_and_it_reaches_nobody(objects, rendered):
    user = {
        "kind": "Namespace",
        "metadata": {"name": "search", "labels": {"switchyard/embedder": "true"}},
    }
    picture = Picture([*objects, *rendered["platform"], user])
    assert picture.allows(Pod("search"), EMBEDDER, 8080)
    for other in (STRANGER, LOADER, lane("gateway", "blue"), Pod("switchyard-clients"), EMBEDDER):
        assert not picture.allows(other, EMBEDDER, 8080)
    assert not picture.allows(Pod("search"), EMBEDDER, 8081)
    assert not picture.allows(EMBEDDER, CLUSTER_DNS, 53, "UDP")
    assert not picture.allows(EMBEDDER, Pod("switchyard-data", {"app": "postgres"}), 5432)


def test_its_threads_are_limited_and_its_pods_are_drained_one_by_one(objects, deployment):
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["cpu"] == "2"
    (budget,) = [item for item in objects if item["kind"] == "PodDisruptionBudget"]
    assert budget["spec"]["maxUnavailable"] == 1
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert budget["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_how_many_pods_there_are_is_the_admins(deployment):
    assert "replicas" not in deployment["spec"]


def test_the_service_leads_to_the_port_that_the_image_listens_on(objects, deployment):
    (service,) = [item for item in objects if item["kind"] == "Service"]
    (port,) = service["spec"]["ports"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {one["name"]: one["containerPort"] for one in container["ports"]} == {
        port["targetPort"]: 8080
    }
    assert service["spec"]["selector"] == {"app": "embedder"}
    assert container["image"].partition("@")[0].endswith("/switchyard/embedder")
