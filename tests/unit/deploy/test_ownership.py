"""Who owns what: no overlay contains a slot, a role's selector, or a lane's size."""

from __future__ import annotations

import pytest

from rollout.compare import pair
from tests.tree import OVERLAYS

LANE_OVERLAYS = [name for name in OVERLAYS if "/" in name or name == "staging"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_no_overlay_contains_a_role_or_a_slot(rendered, overlay):
    for item in rendered[overlay]:
        if item["kind"] == "Service":
            assert "externalName" not in item["spec"]
            assert not item["metadata"]["name"].startswith("assistant-")
            assert item["metadata"]["namespace"] != "switchyard-slots"


@pytest.mark.parametrize("overlay", LANE_OVERLAYS)
def test_a_lane_overlay_says_no_replicas_but_a_wanted_size(rendered, overlay):
    for item in rendered[overlay]:
        assert "replicas" not in item.get("spec", {})
        if item["kind"] == "Deployment":
            assert item["metadata"]["annotations"]["switchyard/replicas"] == "1"
            assert "annotations" not in item["spec"]["template"]["metadata"]


@pytest.mark.parametrize("lane", ["blue", "green"])
def test_what_was_tested_is_what_serves(rendered, lane):
    assert pair(rendered[f"canary/{lane}"], rendered[f"prod/{lane}"]) == []


def test_every_object_says_its_namespace(rendered):
    cluster_wide = {"Namespace", "StorageClass", "PersistentVolume", "ClusterRole"}
    cluster_wide |= {"ClusterRoleBinding", "ValidatingAdmissionPolicy"}
    cluster_wide |= {"ValidatingAdmissionPolicyBinding"}
    missing = [
        (overlay, item["kind"], item["metadata"]["name"])
        for overlay, objects in rendered.items()
        for item in objects
        if item["kind"] not in cluster_wide and "namespace" not in item["metadata"]
    ]
    assert missing == []


def test_every_selector_of_a_lane_names_the_lane(rendered):
    for lane in ("blue", "green"):
        for item in rendered[f"prod/{lane}"]:
            selector = item["spec"]["selector"]
            assert selector.get("matchLabels", selector)["lane"] == lane


def test_the_environment_of_a_lane_comes_from_its_label(rendered):
    for item in rendered["prod/blue"]:
        if item["kind"] == "Deployment":
            (container,) = item["spec"]["template"]["spec"]["containers"]
            env = {entry["name"]: entry for entry in container["env"]}
            field = env["LANE"]["valueFrom"]["fieldRef"]["fieldPath"]
            assert field == "metadata.labels['lane']"
            assert item["spec"]["template"]["metadata"]["labels"]["lane"] == "blue"


def test_the_platform_owns_no_field_of_a_lane(rendered):
    for overlay in ("platform", "local"):
        lanes = [
            item["metadata"]["name"]
            for item in rendered[overlay]
            if item["metadata"].get("namespace") in ("switchyard", "switchyard-staging")
            and item["kind"] not in ("Role", "RoleBinding", "NetworkPolicy")
        ]
        assert lanes == []
