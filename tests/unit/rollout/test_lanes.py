"""A lane's Deployments: what is seen of them, and writes that a late process cannot make."""

from __future__ import annotations

import copy

import pytest

from rollout import lane_apply, lanes
from rollout.cluster import apps, core
from rollout.errors import Conflict, Superseded
from rollout.lane_apply import NotALanePart
from rollout.lane_view import view
from rollout.names import EPOCH, RELEASE
from tests.unit.rollout.fake_api import FakeApi, Object
from tests.unit.rollout.fake_cluster import NAMES, api, deployment, run_lane

MARKS = {RELEASE: "2", EPOCH: "3"}
CONFLICT = 'Apply failed with 1 conflict: conflict with "kubectl" using apps/v1: .spec'


def test_a_lane_is_settled_only_when_every_pod_is_new_and_ready() -> None:
    fake = FakeApi()
    run_lane(fake, "green", 2, MARKS)
    path = apps(NAMES.lanes, "gateway-green")
    assert lanes.observe(api(fake), NAMES)["green"].settled
    assert lanes.observe(api(fake), NAMES)["green"].release == 2
    for key, value in (("readyReplicas", 1), ("updatedReplicas", 1), ("replicas", 3)):
        run_lane(fake, "green", 2, MARKS)
        fake.objects[path]["status"][key] = value
        assert not lanes.observe(api(fake), NAMES)["green"].settled
    run_lane(fake, "green", 2, MARKS)
    fake.objects[path]["metadata"]["generation"] = 2
    assert not lanes.observe(api(fake), NAMES)["green"].settled
    assert not lanes.observe(api(fake), NAMES)["blue"].settled


def test_parts_of_two_releases_are_no_release() -> None:
    parts = [deployment("green"), deployment("green", part="pipeline")]
    for number, one in enumerate(parts):
        one["metadata"]["annotations"][RELEASE] = str(number)
        one["metadata"]["generation"] = 1
    assert view("green", parts, []).release is None


@pytest.mark.parametrize(
    ("status", "line"),
    [
        (
            {"containerStatuses": [{
                "name": "g", "restartCount": 0,
                "state": {"waiting": {"reason": "ErrImagePull", "message": "no\n such"}},
            }]},
            "p: g: ErrImagePull: no such",
        ),
        (
            {"containerStatuses": [{
                "name": "g", "restartCount": 2, "state": {},
                "lastState": {"terminated": {"reason": "OOMKilled", "exitCode": 137}},
            }]},
            "p: g: OOMKilled: exit code 137",
        ),
        (
            {"conditions": [
                {"type": "PodScheduled", "status": "False", "message": "Insufficient cpu"}
            ]},
            "p: Insufficient cpu",
        ),
        ({"containerStatuses": [{"name": "g", "restartCount": 0, "state": {"running": {}}}]}, ""),
        ({}, ""),
    ],
)  # fmt: skip
def test_trouble_is_said_in_the_kubelets_words(status: dict[str, object], line: str) -> None:
    pod = {"metadata": {"name": "p", "labels": {"lane": "green"}}, "status": status}
    assert view("green", [], [pod]).trouble == line


def test_applying_marks_release_and_epoch_and_leaves_replicas_alone() -> None:
    fake = FakeApi()
    run_lane(fake, "green", 5, MARKS)
    lane_apply.apply(api(fake), NAMES.lanes, "green", [deployment("green")], 4, 3)
    one = fake.objects[apps(NAMES.lanes, "gateway-green")]
    assert one["metadata"]["annotations"][RELEASE] == "4"
    assert one["spec"]["replicas"] == 5


def with_lane(one: Object) -> Object:
    containers = one["spec"]["template"]["spec"]["containers"]
    containers[0]["env"] = [{"name": "LANE", "value": "x"}, {"name": "RELEASE", "value": "99"}]
    return one


def test_applying_tells_each_container_that_knows_its_lane_which_release_it_is() -> None:
    fake, manifest = FakeApi(), with_lane(deployment("green"))
    sidecar = {"name": "other", "image": "registry/other@sha256:1"}
    manifest["spec"]["template"]["spec"]["containers"].append(sidecar)
    written = copy.deepcopy(manifest)
    lane_apply.apply(api(fake), NAMES.lanes, "green", [manifest], 4, 3)
    one, two = fake.objects[apps(NAMES.lanes, "gateway-green")]["spec"]["template"]["spec"][
        "containers"
    ]
    assert one["env"] == [{"name": "LANE", "value": "x"}, {"name": "RELEASE", "value": "4"}]
    assert two == sidecar
    # A record keeps the manifest, whose hash is the key of a verdict.
    assert manifest == written


def test_the_same_release_applied_again_has_the_same_template() -> None:
    fake = FakeApi()
    templates = []
    for epoch in (3, 4):
        lane_apply.apply(
            api(fake), NAMES.lanes, "green", [with_lane(deployment("green"))], 4, epoch
        )
        templates.append(fake.objects[apps(NAMES.lanes, "gateway-green")]["spec"]["template"])
    assert templates[0] == templates[1]


def test_a_late_process_cannot_apply_or_scale() -> None:
    fake = FakeApi()
    run_lane(fake, "green", 2, MARKS)
    with pytest.raises(Superseded):
        lane_apply.apply(api(fake), NAMES.lanes, "green", [deployment("green")], 4, 2)
    with pytest.raises(Superseded):
        lanes.scale(api(fake), NAMES.lanes, "green", {"gateway": 0}, 2)
    assert fake.verbs("apply", "patch") == []


def test_a_change_between_look_and_apply_is_looked_at_again_and_a_fence_then_holds() -> None:
    fake = FakeApi()
    run_lane(fake, "green", 2, MARKS)

    def fence(verb: str, path: str) -> None:
        if verb == "apply":
            fake.before = lambda verb, path: None
            run_lane(fake, "green", 2, {RELEASE: "2", EPOCH: "9"})

    fake.before = fence
    with pytest.raises(Superseded, match="epoch 9"):
        lane_apply.apply(api(fake), NAMES.lanes, "green", [deployment("green")], 4, 3)


def test_a_part_that_the_release_dropped_is_deleted_and_config_maps_stay() -> None:
    fake = FakeApi()
    run_lane(fake, "green", 1, MARKS)
    old = deployment("green", part="old")
    fake.put(apps(NAMES.lanes, "old-green"), **old)
    lane_apply.apply(api(fake), NAMES.lanes, "green", [deployment("green")], 4, 3)
    assert fake.verbs("delete") == ["old-green"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x", "namespace": "other"}},
        {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "x"}},
    ],
)  # fmt: skip
def test_what_is_no_part_of_a_lane_is_never_applied(wrong: dict[str, object]) -> None:
    with pytest.raises(NotALanePart, match="no part of a lane"):
        lane_apply.apply(api(FakeApi()), NAMES.lanes, "green", [wrong], 1, 1)


def test_fields_of_an_admin_are_taken_over_with_a_word(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fake = FakeApi()
    forced: list[bool] = []

    def apply(path: str, body: object, manager: str, *, force: bool = False) -> object:
        forced.append(force)
        if not force:
            raise Conflict(409, CONFLICT)
        return body

    monkeypatch.setattr(fake, "apply", apply)
    lane_apply.apply(api(fake), NAMES.lanes, "green", [deployment("green")], 1, 1)
    assert forced == [False, True]
    assert "taking over" in caplog.text


def test_the_address_of_a_service_needs_no_dns() -> None:
    fake = FakeApi()
    for ip, url in (("10.0.0.1", "http://10.0.0.1:80"), ("fd00::1", "http://[fd00::1]:80")):
        spec = {"clusterIP": ip, "ports": [{"port": 80}]}
        fake.put(core(NAMES.lanes, "services", "lane-blue"), spec=spec)
        assert lanes.address(api(fake), NAMES.lanes, "lane-blue") == url
    assert lanes.address(api(fake), NAMES.lanes, "lane-green") is None
