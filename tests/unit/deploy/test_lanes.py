"""Once the controller has the lanes, they are only looked at."""

from __future__ import annotations

from deploy import lanes
from rollout.released import release_of, released


def deployment(name, image):
    spec = {"template": {"spec": {"containers": [{"image": image}]}}}
    return {"kind": "Deployment", "metadata": {"name": name}, "spec": spec}


class Cluster:
    """Two Deployments, and the role Service that the controller made, or none."""

    def __init__(self, role=None):
        self.role = role

    def get(self, kind, name, namespace):
        assert (kind, name, namespace) == ("service", "assistant-stable", "switchyard")
        return self.role

    def list(self, kind, namespace):
        assert (kind, namespace) == ("deployments", "switchyard")
        gateway, tickets = deployment("gateway-blue", "r/g@1"), deployment("tickets-blue", "r/t@1")
        marks = {"switchyard/release": "7", "switchyard/epoch": "9", "other": "x"}
        gateway["metadata"]["annotations"] = marks
        return [gateway, tickets]


def test_the_serving_lane_is_the_one_that_stable_selects():
    role = {"spec": {"selector": {"app": "gateway", "lane": "green"}}}
    assert lanes.serving_lane(Cluster(role)) == "green"


def test_before_the_controller_has_made_its_roles_no_lane_serves():
    assert lanes.serving_lane(Cluster()) is None


def test_parts_that_run_other_images_or_none_are_told():
    parts = [
        deployment("gateway-blue", "r/g@1"),
        deployment("tickets-blue", "r/t@2"),
        deployment("pipeline-blue", "r/p@1"),
        {"kind": "Service", "metadata": {"name": "lane-blue"}},
    ]
    assert lanes.stale(Cluster(), parts) == ["tickets-blue", "pipeline-blue"]


def test_the_advice_names_the_lane_the_parts_and_what_to_do():
    text = lanes.advice("blue", ["tickets-blue"])
    assert "tickets-blue" in text
    assert "push a signed commit" in text
    assert "\n" not in text


def test_applying_a_lane_by_hand_keeps_the_controllers_marks():
    parts = [deployment("gateway-blue", "r/g@2"), deployment("tickets-blue", "r/t@2")]
    parts[0]["metadata"]["annotations"] = {"switchyard/replicas": "1"}
    gateway, tickets = lanes.marked(Cluster(), parts)
    assert gateway["metadata"]["annotations"] == {
        "switchyard/replicas": "1",
        "switchyard/release": "7",
        "switchyard/epoch": "9",
    }
    assert tickets == parts[1]


def test_applying_a_lane_by_hand_restarts_nothing_for_its_releases_number():
    """The controller's RELEASE is kept where it stands, and not added where it does not."""
    part = deployment("gateway-blue", "r/g@1")
    part["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "LANE"}]
    told = released(part, "7")
    for running in (told, part):
        cluster = Cluster()
        cluster.list = lambda kind, namespace, running=running: [running]
        (found,) = lanes.marked(cluster, [part])
        assert found["spec"] == running["spec"]


def test_the_parts_that_name_their_release_are_told_it(rendered):
    """Who writes a ring reads RELEASE, which the controller puts beside LANE."""
    for overlay in ("canary/blue", "prod/green", "staging"):
        for part in ("gateway", "pipeline"):
            (found,) = [
                item
                for item in rendered[overlay]
                if item["kind"] == "Deployment" and item["metadata"]["labels"]["app"] == part
            ]
            assert release_of(found) == ""
            assert release_of(released(found, "12")) == "12"
