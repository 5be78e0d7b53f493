"""Roles and slots: every write is fenced by the epoch, and nothing is written twice."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rollout import sequences
from rollout.cluster import core, group
from rollout.errors import ApiUnavailable, Superseded
from rollout.marks import epoch
from rollout.names import EPOCH, RELEASE, ROLE
from rollout.services import (
    Services,
    guarded,
    read_roles,
    read_slots,
    role_changes,
    slot_changes,
)
from rollout.wanted import Wanted
from tests.unit.rollout.fake_api import FakeApi, Object
from tests.unit.rollout.fake_cluster import NAMES, api, installed, service

SPLIT = Wanted(
    "assistant-stable",
    {"assistant-stable": "blue", "assistant-c2": "green"},
    {f"s{n}": "assistant-c2" if n in (0, 2) else "assistant-stable" for n in range(7)},
    1,
    "",
)
BACK = Wanted(
    "assistant-stable",
    {"assistant-stable": "blue", "assistant-c2": "blue"},
    {f"s{n}": "assistant-stable" for n in range(7)},
    1,
    "",
)


def endpoints(fake: FakeApi, name: str, pods: list[str]) -> None:
    fake.put(
        group("discovery.k8s.io/v1", NAMES.lanes, "endpointslices", f"{name}-1"),
        metadata={"labels": {"kubernetes.io/service-name": name}},
        endpoints=[{"targetRef": {"name": pod}, "conditions": {"ready": True}} for pod in pods],
    )


def found(fake: FakeApi) -> Services:
    return sequences.read(api(fake), NAMES)


def with_green(fake: FakeApi) -> FakeApi:
    fake.put(
        core(NAMES.lanes, "pods", "g"), metadata={"labels": {"app": "gateway", "lane": "green"}}
    )
    return fake


def test_a_step_opens_selector_then_endpoints_then_slots() -> None:
    fake = with_green(installed())
    endpoints(fake, "assistant-c2", ["g"])
    sequences.shift(api(fake), NAMES, found(fake), SPLIT, 1, settle=True)
    order = [(verb, path.rpartition("/")[2]) for verb, path in fake.calls]
    made = order.index(("apply", "assistant-c2"))
    seen = order.index(("list", "endpointslices"))
    slots = order.index(("patch", "s0"))
    assert made < seen < slots
    assert fake.verbs("patch") == ["s0", "s2"]


def test_slots_do_not_move_before_the_endpoints_are_the_lanes_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = with_green(installed())
    endpoints(fake, "assistant-c2", ["g", "gateway-blue-0"])
    monkeypatch.setattr(sequences, "ENDPOINTS_S", 0.05)
    with pytest.raises(ApiUnavailable, match="EndpointSlices of assistant-c2"):
        sequences.shift(api(fake), NAMES, found(fake), SPLIT, 1, settle=True)
    assert fake.verbs("patch") == []


def test_an_undo_waits_for_nothing_and_moves_selectors_first() -> None:
    fake = with_green(installed())
    endpoints(fake, "assistant-c2", ["g"])
    sequences.shift(api(fake), NAMES, found(fake), SPLIT, 1, settle=True)
    fake.calls.clear()
    sequences.shift(api(fake), NAMES, found(fake), BACK, 2, settle=False)
    patched = fake.verbs("patch")
    assert set(patched[:2]) == {"assistant-stable", "assistant-c2"}
    assert set(patched[2:]) == {f"s{n}" for n in range(7)}
    assert ("list", group("discovery.k8s.io/v1", NAMES.lanes, "endpointslices")) not in fake.calls


def test_what_is_right_already_is_not_written_again() -> None:
    fake = installed()
    one = Wanted(
        "assistant-stable", {"assistant-stable": "blue"}, BACK.slots, release=1, previous_lane=""
    )
    sequences.shift(api(fake), NAMES, found(fake), one, 1, settle=False)
    assert fake.verbs("patch", "apply") == []


def test_a_new_epoch_alone_is_a_write_of_every_object() -> None:
    fake = installed()
    changes = slot_changes(NAMES, found(fake), BACK, 9)
    assert len(changes) == 7
    assert all(change.operations and change.operations[0]["op"] == "test" for change in changes)


def test_an_object_with_a_newer_epoch_refuses_this_process() -> None:
    fake = installed()
    service(fake, NAMES.lanes, "assistant-stable")["metadata"]["annotations"][EPOCH] = "5"
    with pytest.raises(Superseded, match="epoch 5"):
        role_changes(NAMES, found(fake), BACK, 4)


def test_a_write_between_look_and_patch_is_refused_by_the_server() -> None:
    fake = installed()
    before = found(fake)
    sequences.shift(api(fake), NAMES, before, BACK, 2, settle=False)
    with pytest.raises(Superseded, match="another writer"):
        sequences.shift(api(fake), NAMES, before, SPLIT, 1, settle=False)


def test_a_write_of_the_same_epoch_since_the_look_is_looked_at_first() -> None:
    fake = installed()
    before = found(fake)
    other = replace(SPLIT, slots={**BACK.slots, "s0": "assistant-c3"})
    sequences.shift(api(fake), NAMES, before, SPLIT, 1, settle=False)
    with pytest.raises(Superseded, match="another writer"):
        sequences.shift(api(fake), NAMES, before, other, 1, settle=False)
    assert found(fake).view(NAMES)[1]["s0"].service == "assistant-c2"


def test_slots_are_read_before_roles_because_roles_move_first() -> None:
    fake = installed()
    found(fake)
    assert [path for _, path in fake.calls] == [
        core(NAMES.slots, "services"),
        core(NAMES.lanes, "services"),
    ]


@pytest.mark.parametrize("annotations", [None, {}, {"other": "x"}])
def test_an_object_without_an_epoch_is_fenced_by_its_version(
    annotations: dict[str, str] | None,
) -> None:
    have: Object = {"metadata": {"name": "x", "resourceVersion": "7", "annotations": annotations}}
    operations = guarded(have, {EPOCH: "3"})
    assert operations[0] == {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}


def test_only_client_services_are_ever_pruned() -> None:
    fake = installed()
    sequences.prune(api(fake), NAMES, ("assistant-stable",))
    assert fake.verbs("delete") == []


@pytest.mark.parametrize("value", ["9" * 5000, "9" * 15, "-1", ""])
def test_an_absurd_epoch_counts_as_none_and_stops_nobody(value: str) -> None:
    fake = installed()
    metadata = service(fake, NAMES.lanes, "assistant-stable")["metadata"]
    metadata["annotations"] |= {EPOCH: value, RELEASE: value}
    assert epoch({"metadata": metadata}) == 0
    assert found(fake).view(NAMES)[0]["assistant-stable"].release is None
    sequences.shift(api(fake), NAMES, found(fake), BACK, 2, settle=False)
    assert epoch(service(fake, NAMES.lanes, "assistant-stable")) == 2


def test_a_lane_service_that_is_labelled_as_a_role_is_none() -> None:
    fake = installed()
    for name in ("lane-green", "assistant-cx", "assistant-c2"):
        fake.put(core(NAMES.lanes, "services", name), metadata={"labels": {ROLE: "candidate"}})
    assert set(read_roles(api(fake), NAMES)) == {"assistant-stable", "assistant-c2"}


def test_a_service_of_a_commit_is_no_role_and_no_slot_by_its_name_or_its_label_alone() -> None:
    fake = installed()
    fake.put(core(NAMES.lanes, "services", "assistant-c9"), metadata={"labels": {"lane": "blue"}})
    fake.put(core(NAMES.slots, "services", "s9"), metadata={"labels": {ROLE: "slot"}})
    assert set(read_roles(api(fake), NAMES)) == {"assistant-stable"}
    assert set(read_slots(api(fake), NAMES)) == {f"s{slot}" for slot in range(7)}
