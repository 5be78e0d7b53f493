"""Generated ConfigMaps go when nothing names them, and no other ConfigMap ever does."""

from __future__ import annotations

import pytest

from rollout import lane_apply
from rollout.cluster import core
from rollout.errors import ApiError
from rollout.generated import stem, unneeded
from tests.unit.rollout.fake_api import FakeApi, Object
from tests.unit.rollout.fake_cluster import NAMES, api, deployment

HASHES = ["2t4k8m9hgb", "c6f5d7g8h9", "bbbbbbbbbb", "dddddddddd"]


def config(name: str, lane: str = "green") -> Object:
    metadata = {"name": name, "namespace": NAMES.lanes, "labels": {"lane": lane}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "b"}}


def using(name: str, place: str = "volume") -> Object:
    """The gateway's Deployment of green, reading a ConfigMap."""
    one = deployment("green")
    pod = one["spec"]["template"]["spec"]
    if place == "volume":
        pod["volumes"] = [{"name": "v", "configMap": {"name": name}}]
    elif place == "projected":
        pod["volumes"] = [{"name": "v", "projected": {"sources": [{"configMap": {"name": name}}]}}]
    elif place == "variables":
        pod["containers"][0]["envFrom"] = [{"configMapRef": {"name": name}}]
    else:
        reference = {"configMapKeyRef": {"name": name, "key": "a"}}
        pod["containers"][0]["env"] = [{"name": "A", "valueFrom": reference}]
    return one


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("words-green-2t4k8m9hgb", "words-green"),
        ("words-green", ""),
        ("kube-root-ca.crt", ""),
        ("words-collection", ""),
        ("words-green-2t4k8m9hg", ""),
        ("2t4k8m9hgb", ""),
        ("", ""),
    ],
)
def test_only_a_hash_as_kustomize_writes_it_makes_a_generated_name(name: str, found: str) -> None:
    assert stem(name) == found


@pytest.mark.parametrize("place", ["volume", "projected", "variables", "variable"])
def test_one_that_a_pod_template_names_is_needed(place: str) -> None:
    used, old = config(f"a-green-{HASHES[0]}"), config(f"a-green-{HASHES[1]}")
    assert unneeded([used, old], [using(f"a-green-{HASHES[0]}", place)]) == [f"a-green-{HASHES[1]}"]


def names(fake: FakeApi) -> set[str]:
    return {
        path.rpartition("/")[2]
        for path in fake.objects
        if path.startswith(core(NAMES.lanes, "configmaps"))
    }


def release(fake: FakeApi, number: int, lane: str = "green") -> None:
    name = f"a-green-{HASHES[number]}"
    lane_apply.apply(api(fake), NAMES.lanes, lane, [config(name), using(name)], number, 1)


def test_a_lane_keeps_the_config_maps_of_its_release_and_of_the_one_before() -> None:
    fake = FakeApi()
    kept = {"settings-green", f"other-blue-{HASHES[0]}", "kube-root-ca.crt"}
    for name in kept:
        lane = "blue" if "blue" in name else "green"
        fake.put(core(NAMES.lanes, "configmaps", name), **config(name, lane))
    for number in range(4):
        release(fake, number)
        last = {f"a-green-{one}" for one in HASHES[max(0, number - 1) : number + 1]}
        assert names(fake) == kept | last
    release(fake, 3)
    assert names(fake) == kept | {f"a-green-{HASHES[3]}"}


def test_a_lane_is_applied_though_an_old_config_map_cannot_be_deleted() -> None:
    fake = FakeApi()
    for number in range(2):
        release(fake, number)

    def refuse(verb: str, path: str) -> None:
        if verb == "delete":
            raise ApiError(403, "not you")

    fake.before = refuse
    release(fake, 2)
    assert len(names(fake)) == 3
