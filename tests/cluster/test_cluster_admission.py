"""What the API server lets the controller write: for each rule something let in, something refused.

Nothing is changed but by the tests that must find an object there; those hold the controller still.
"""

from __future__ import annotations

import copy
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rollout.cluster import Api, apps, core
from rollout.names import EPOCH, PREVIOUS_LANE, RELEASE, ROLE, other_lane
from rollout.render import Manifest, render
from rollout.services import role_body, slot_body
from rollout.wanted import Wanted
from tests.cluster import overlay_cluster as cluster
from tests.hostile import HOSTILE, attempt

LANES, STAGING = "switchyard", "switchyard-staging"
SLOTS, CONTROL = "switchyard-slots", "switchyard-rollout"
LAST = 10**12 - 1
"""The highest epoch that the controller may write: above whatever the cluster has now."""
CLIENT = "assistant-c999999999"
Done = subprocess.CompletedProcess[str]


def let_in(done: Done) -> None:
    assert done.returncode == 0, done.stderr


def refused(done: Done, said: str) -> None:
    assert done.returncode != 0, "it was let in"
    assert said in done.stderr
    # With 422, a denial would pass for a JSON Patch test that did not hold.
    assert "(Forbidden)" in done.stderr or "forbidden" in done.stderr


def made(kind: str, name: str, namespace: str = LANES, **parts: Any) -> dict[str, Any]:
    """An object; `labels` and `annotations` go into its metadata."""
    version = {"HorizontalPodAutoscaler": "autoscaling/v2"}.get(kind, "v1")
    fields = {key: parts.pop(key) for key in ("labels", "annotations") if key in parts}
    metadata = {"name": name, "namespace": namespace, **fields}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}


def role(
    name: str = CLIENT,
    lane: str = "blue",
    label: str | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A role Service as the controller writes it, but for what is given."""
    target = Wanted(cluster.NAMES.stable, {}, {}, 7, "green")
    body = role_body(cluster.NAMES, name, lane, LAST, target)
    return changed(body, label, annotations, spec)


def slot(
    service: str = "assistant-stable",
    label: str | None = None,
    annotations: dict[str, str] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A slot as the controller writes it, but for what is given."""
    return changed(slot_body(cluster.NAMES, "s3", service, LAST), label, annotations, spec)


def changed(
    body: dict[str, Any],
    label: str | None,
    annotations: dict[str, str] | None,
    spec: dict[str, Any],
) -> dict[str, Any]:
    """An empty label takes it away."""
    if label is not None:
        body["metadata"]["labels"] = {ROLE: label} if label else {}
    body["metadata"]["annotations"].update(annotations or {})
    body["spec"].update(spec)
    return body


def configmap(name: str, namespace: str = CONTROL, lane: str = "") -> dict[str, Any]:
    labels = {"lane": lane} if lane else {}
    return made("ConfigMap", name, namespace, labels=labels, data={"test": "x"})


def scaler(name: str, target: str, lane: str = "blue") -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}
    spec = {"maxReplicas": 2, "scaleTargetRef": reference}
    return made("HorizontalPodAutoscaler", name, labels={"lane": lane}, spec=spec)


LET_IN = {
    "role": role(),
    "role of green": role(lane="green"),
    "stable": role("assistant-stable"),
    "stable without a previous lane": role("assistant-stable", annotations={PREVIOUS_LANE: ""}),
    "slot": slot(),
    "slot of a client": slot(CLIENT),
    "journal": configmap("journal"),
    "record": configmap("release-900"),
    "ConfigMap": configmap("words-blue", LANES, "blue"),
    "ConfigMap with a hash": configmap("words-green-6ghd2gcmd9", LANES, "green"),
    "ConfigMap of staging": configmap("words-staging", STAGING, "staging"),
    "autoscaler": scaler("gateway-blue", "gateway-blue"),
}


def test_every_expression_fits_the_types_of_what_it_is_asked_about():
    found = json.loads(cluster.ask("get", "validatingadmissionpolicies", "-o", "json"))["items"]
    ours = [one for one in found if one["metadata"]["name"].startswith("switchyard-rollout-")]
    warnings = [one.get("status", {}).get("typeChecking", {}) for one in ours]
    assert len(ours) == 10
    assert warnings == [{}] * 10


@pytest.mark.parametrize("wished", LET_IN.values(), ids=LET_IN)
def test_the_controllers_own_objects_are_let_in(wished):
    let_in(cluster.as_controller(wished))


ADMINS = "settings and trust are the admin's"
FORM = "an epoch of 1 to 12 digits"
SELECTED, NAMED = "selects the gateways of one lane", "naming a role Service"
POSTGRES = "postgres.switchyard-data.svc.cluster.local"
REFUSED = {
    "trust": (configmap("trust"), ADMINS),
    "settings": (configmap("rollout-settings"), ADMINS),
    "record without a number": (configmap("release-x"), ADMINS),
    "foreign ConfigMap": (configmap("kube-root-ca.crt", LANES), "ends in its lane"),
    "ConfigMap of staging": (configmap("words-staging", LANES, "staging"), "ends in its lane"),
    "ConfigMap of a word": (configmap("words-blue-stylesheet", LANES, "blue"), "ends in its lane"),
    "ConfigMap of two lanes": (configmap("words-blue", LANES, "green"), "the lane of its name"),
    "ConfigMap of no lane": (configmap("words-blue", LANES), "the lane of its name"),
    "other Service": (made("Service", "evil", spec={"ports": [{"port": 80}]}), "nothing else"),
    "role without a number": (role("assistant-cx"), "nothing else"),
    "role of another number": (role("assistant-c007"), "nothing else"),
    "role of the database": (role(selector={"app": "postgres"}), SELECTED),
    "role of staging": (role(lane="staging"), SELECTED),
    "role of everything": (role(selector={"app": "gateway"}), SELECTED),
    "role by a door": (role(type="NodePort"), "type ClusterIP"),
    "role by an address": (role(externalIPs=["192.0.2.1"]), "no external address"),
    "role to admin": (role(ports=[{"port": 80, "targetPort": 8081}]), "leads to 8080"),
    "sticky role": (role(sessionAffinity="ClientIP"), "leads to 8080"),
    "role without its label": (role(label=""), "on that very Service"),
    "client as stable": (role(label="stable"), "on that very Service"),
    "role without an epoch": (role(annotations={EPOCH: ""}), FORM),
    "epoch of 13 digits": (role(annotations={EPOCH: "1" + "0" * 12}), FORM),
    "epoch below nothing": (role(annotations={EPOCH: "-1"}), FORM),
    "client with a release": (role(annotations={RELEASE: "7"}), "say their release"),
    "release of no digits": (
        role("assistant-stable", annotations={RELEASE: "x"}), "say their release",
    ),
    "client with a previous lane": (
        role(annotations={PREVIOUS_LANE: "blue"}), "its previous lane",
    ),
    "previous lane of no sort": (
        role("assistant-stable", annotations={PREVIOUS_LANE: "staging"}), "its previous lane",
    ),
    "role as an annotation": (role(annotations={ROLE: "candidate"}), "the role is a label"),
    "slot to the world": (slot(externalName="example.com"), NAMED),
    "slot to the database": (slot(externalName=POSTGRES), NAMED),
    "slot to a lane": (slot("lane-blue"), NAMED),
    "slot without an epoch": (slot(annotations={EPOCH: "x"}), FORM),
    "slot as a role": (slot(label="stable"), "on that very Service"),
    "autoscaler of another": (scaler("gateway-blue", "tickets-blue"), "scales its own part"),
    "autoscaler of two lanes": (
        scaler("gateway-blue", "gateway-blue", "green"), "labelled with the lane",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("wished", "said"), REFUSED.values(), ids=REFUSED)
def test_what_names_alone_cannot_refuse_is_refused(wished, said):
    refused(cluster.as_controller(wished), said)


@pytest.fixture(scope="module")
def serving() -> str:
    (found,) = cluster.get("service", LANES, "--field-selector=metadata.name=assistant-stable")
    return str(found["spec"]["selector"]["lane"])


@pytest.fixture(scope="module")
def idle(serving) -> str:
    return other_lane(serving)


@pytest.fixture(scope="module")
def rendered(idle) -> list[Manifest]:
    """The idle lane's manifests of this tree, marked as the controller marks them."""
    return [stamped(one) for one in render(cluster.ROOT, f"deploy/overlays/prod/{idle}")]


def stamped(one: Manifest) -> Manifest:
    if one["kind"] == "Deployment":
        one["metadata"].setdefault("annotations", {}).update({RELEASE: "7", EPOCH: str(LAST)})
    return one


def apply(*objects: Manifest) -> Done:
    """As the manager of the lanes: a field that is left out is taken away."""
    return cluster.as_controller(*objects, manager="rollout-lane")


def test_a_whole_release_is_let_in(rendered):
    let_in(apply(*rendered))


def test_the_rehearsal_is_let_in():
    let_in(apply(*map(stamped, render(cluster.ROOT, "deploy/overlays/staging"))))


@pytest.mark.parametrize("one", HOSTILE, ids=lambda one: f"{one.kind} {one.what}")
def test_what_the_lint_finds_is_refused(rendered, serving, idle, one):
    refused(apply(attempt(copy.deepcopy(rendered), one, idle, serving)), one.denied)


def test_an_image_from_elsewhere_is_refused(rendered):
    part = deployment(rendered)
    (container,) = part["spec"]["template"]["spec"]["containers"]
    container["image"] = "registry.example/" + container["image"].split("/", 1)[1]
    refused(apply(part), "comes from")


@pytest.mark.parametrize("where", ["pods", "selector"])
def test_a_new_part_whose_pods_are_the_other_lanes_is_refused(rendered, serving, where):
    part = deployment(rendered)
    part["metadata"]["name"] = part["metadata"]["name"].replace("gateway", "probe")
    for labels in (part["metadata"], part["spec"]["template"]["metadata"]):
        labels["labels"]["app"] = "probe"
    part["spec"]["selector"]["matchLabels"]["app"] = "probe"
    let_in(create(part))
    part["spec"]["template"]["metadata"]["labels"]["lane"] = serving
    part["spec"]["selector"]["matchLabels"]["lane"] = serving
    if where == "pods":
        del part["spec"]["selector"]["matchLabels"]["lane"]
    refused(create(part), "labelled with the app and the lane")


def deployment(rendered: list[Manifest]) -> Manifest:
    found = (one for one in rendered if one["kind"] == "Deployment")
    return copy.deepcopy(
        next(one for one in found if one["metadata"]["labels"]["app"] == "gateway")
    )


def create(one: Manifest) -> Done:
    """With an admin's rights as well: RBAC alone would refuse a part of another name."""
    words = ("create", "-f", "-", "--as-group=system:masters")
    return cluster.try_as_controller(*words, stdin=json.dumps(one))


def patch(what: str, change: dict[str, Any], namespace: str = LANES) -> Done:
    words = ("patch", what, "-n", namespace, "--type=merge", "-p", json.dumps(change))
    return cluster.try_as_controller(*words)


def delete(what: str, namespace: str = LANES) -> Done:
    return cluster.try_as_controller("delete", what, "-n", namespace)


def test_an_epoch_never_falls():
    marks = {"metadata": {"annotations": {EPOCH: "0"}}}
    refused(patch("service/assistant-stable", marks), "an epoch never falls")
    refused(patch("service/s0", marks, SLOTS), "an epoch never falls")


def test_the_lane_that_serves_may_grow_but_not_end_or_change(serving):
    part = f"deployment/gateway-{serving}"
    let_in(patch(part, {"spec": {"replicas": 7}}))
    refused(patch(part, {"spec": {"replicas": 0}}), "the lane that serves")
    refused(patch(part, pod(terminationGracePeriodSeconds=7)), "the lane that serves")
    refused(delete(part), "the lane that serves")


@pytest.mark.parametrize(
    ("what", "namespace", "said"),
    [
        ("service/assistant-stable", LANES, "delete"),
        ("service/lane-SERVING", LANES, "may delete the client Services"),
        ("configmap/journal", CONTROL, "never its journal"),
        ("configmap/trust", CONTROL, "settings and trust are the admin's"),
        ("configmap/kube-root-ca.crt", LANES, "ends in its lane"),
    ],
)
def test_what_the_controller_never_deletes_is_kept(serving, what, namespace, said):
    refused(delete(what.replace("SERVING", serving), namespace), said)


@pytest.fixture(scope="module")
def still() -> Iterator[Api]:
    with cluster.held_still() as api:
        yield api


@pytest.fixture
def client(still, serving) -> Iterator[str]:
    """A client Service with an epoch of its own, made as an admin would; gone afterwards."""
    body = role(lane=serving, annotations={EPOCH: "1"})
    cluster.ask("create", "-f", "-", stdin=json.dumps(body))
    yield CLIENT
    still.delete(core(LANES, "services", CLIENT))


def until(done: Callable[[], Done], code: int) -> Done:
    """The API server watches what it is asked about: it may know a moment later."""
    deadline = time.monotonic() + 10
    while (found := done()).returncode != code and time.monotonic() < deadline:
        time.sleep(0.1)
    return found


def test_a_client_service_may_go_unless_a_slot_names_it(still, client):
    let_in(delete(f"service/{client}"))
    cluster.point(still, "s0", client)
    try:
        refused(until(lambda: delete(f"service/{client}"), 1), "that a slot names")
    finally:
        cluster.point(still, "s0", "assistant-stable")
    let_in(until(lambda: delete(f"service/{client}"), 0))


def test_a_door_that_an_admin_opened_does_not_stop_an_undo(still, client, idle):
    opened = {"spec": {"type": "NodePort", "sessionAffinity": "ClientIP"}}
    cluster.ask("patch", "service", client, "-n", LANES, "-p", json.dumps(opened))
    moved = {"spec": {"selector": {"lane": idle}}, "metadata": {"annotations": {EPOCH: "2"}}}
    let_in(patch(f"service/{client}", moved))
    wider = {"spec": {"externalIPs": ["192.0.2.1"]}}
    refused(patch(f"service/{client}", wider), "no external address")


@pytest.mark.parametrize(
    "marks",
    [{RELEASE: "x"}, {PREVIOUS_LANE: "nowhere"}, {ROLE: "stable"}, {EPOCH: "9" * 20}, {EPOCH: "x"}],
    ids=str,
)
def test_a_mark_that_somebody_planted_does_not_stop_an_undo(still, client, idle, marks):
    planted = {"metadata": {"annotations": marks}}
    cluster.ask("patch", "service", client, "-n", LANES, "-p", json.dumps(planted))
    moved = {"spec": {"selector": {"lane": idle}}, "metadata": {"annotations": {EPOCH: "2"}}}
    let_in(patch(f"service/{client}", moved))


@contextmanager
def configmaps(api: Api, *wished: dict[str, Any]) -> Iterator[None]:
    """They are there; gone afterwards."""
    try:
        for body in wished:
            cluster.ask("create", "-f", "-", stdin=json.dumps(body))
        yield
    finally:
        for metadata in (body["metadata"] for body in wished):
            api.delete(core(metadata["namespace"], "configmaps", metadata["name"]))


def test_a_config_map_of_a_lane_may_go_only_if_its_name_ends_in_a_hash(still):
    names = ("admission-test-blue-6ghd2gcmd9", "admission-test-blue")
    with configmaps(still, *(configmap(name, LANES, "blue") for name in names)):
        let_in(delete(f"configmap/{names[0]}"))
        refused(delete(f"configmap/{names[1]}"), "ends in a hash")


def test_a_record_may_go_but_not_that_of_the_release_that_serves(still):
    (stable,) = cluster.get("service", LANES, "--field-selector=metadata.name=assistant-stable")
    serving = stable["metadata"]["annotations"][RELEASE]
    with configmaps(still, configmap("release-999999999")):
        let_in(delete("configmap/release-999999999", CONTROL))
    refused(delete(f"configmap/release-{serving}", CONTROL), "the release that serves")


@contextmanager
def present(api: Api, part: Manifest) -> Iterator[str]:
    """The Deployment is there, made at no pod if it was not; as before afterwards."""
    namespace, name = part["metadata"]["namespace"], str(part["metadata"]["name"])
    part["spec"]["replicas"] = 0
    part["metadata"]["annotations"][EPOCH] = "0"
    absent = api.get(apps(namespace, name)) is None
    if absent:
        cluster.ask("create", "-f", "-", stdin=json.dumps(part))
    try:
        yield name
    finally:
        if absent:
            api.delete(apps(namespace, name))


def test_a_part_of_the_idle_lane_may_be_deleted_and_scaled_to_nothing(still, rendered):
    with present(still, deployment(rendered)) as name:
        let_in(delete(f"deployment/{name}"))
        let_in(patch(f"deployment/{name}", {"spec": {"replicas": 0}}))


def test_a_part_that_an_admin_mended_by_hand_can_be_scaled(still):
    """In staging, where no pod runs now."""
    part = deployment([stamped(one) for one in render(cluster.ROOT, "deploy/overlays/staging")])
    with present(still, part) as name:
        node = {"kubernetes.io/os": "linux"}
        mend(name, node)
        try:
            let_in(patch(f"deployment/{name}", {"spec": {"replicas": 1}}, STAGING))
            said = "does not choose its node"
            refused(
                patch(f"deployment/{name}", pod(terminationGracePeriodSeconds=7), STAGING), said
            )
        finally:
            mend(name, None)


def mend(name: str, node: dict[str, str] | None) -> None:
    change = json.dumps(pod(nodeSelector=node))
    cluster.ask("patch", "deployment", name, "-n", STAGING, "-p", change)


def pod(**fields: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": fields}}}
