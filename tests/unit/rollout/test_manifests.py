"""Rendered manifests as data: the same release on either lane has one hash."""

from __future__ import annotations

import pytest

from rollout import manifests
from rollout.candidate import Size
from rollout.manifests import BadManifest
from rollout.names import WANTED_REPLICAS
from tests.unit.rollout.fake_cluster import deployment


def test_sizes_come_from_the_two_overlays() -> None:
    found = manifests.sizes([deployment("blue", 1)], [deployment("blue", 3)])
    assert found == {"gateway": Size(1, 3)}


@pytest.mark.parametrize("value", ["", "0", "-1", "two", "1.5"])
def test_a_bad_size_is_refused_with_its_place(value: str) -> None:
    one = deployment("blue")
    one["metadata"]["annotations"][WANTED_REPLICAS] = value
    with pytest.raises(BadManifest, match="gateway-blue"):
        manifests.sizes([one], [one])


def test_overlays_with_different_parts_are_refused() -> None:
    with pytest.raises(BadManifest, match="pipeline"):
        manifests.sizes(
            [deployment("blue")], [deployment("blue"), deployment("blue", 1, "pipeline")]
        )


def test_nothing_rendered_is_refused() -> None:
    with pytest.raises(BadManifest, match="no Deployment"):
        manifests.sizes([], [])


def test_a_release_moves_to_the_other_lane_and_keeps_its_hash() -> None:
    blue, green = [deployment("blue")], [deployment("green")]
    assert manifests.for_lane(blue, "green") == green
    assert manifests.for_lane(green, "green") == green
    assert manifests.neutral_hash(blue) == manifests.neutral_hash(green)
    other = deployment("blue")
    other["spec"]["template"]["spec"]["containers"][0]["image"] = "registry/x@sha256:2"
    assert manifests.neutral_hash([other]) != manifests.neutral_hash(blue)


def test_words_that_only_contain_a_lane_and_data_of_config_maps_stay() -> None:
    one = {
        "kind": "ConfigMap",
        "metadata": {"name": "bluebird-blue", "labels": {"x": "evergreen"}},
        "data": {"page.css": "color: blue"},
    }
    moved = manifests.for_lane([one], "green")[0]
    assert moved["metadata"] == {"name": "bluebird-green", "labels": {"x": "evergreen"}}
    assert moved["data"] == one["data"]


def test_manifests_of_two_lanes_are_refused() -> None:
    with pytest.raises(BadManifest, match="one lane's overlay"):
        manifests.lane_of([deployment("blue"), deployment("green")])


def test_images_are_listed_by_part_and_container() -> None:
    assert manifests.images([deployment("blue")]) == {
        "gateway/gateway": "registry/gateway@sha256:1"
    }
