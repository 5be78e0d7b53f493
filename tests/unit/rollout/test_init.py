"""`rollout init`: what is absent is made, what is there is left alone."""

from __future__ import annotations

import pytest

from rollout import init, records
from rollout.cluster import apps, core
from rollout.init import CannotInit
from rollout.names import EPOCH, RELEASE
from rollout.services import role_body
from rollout.state import Times
from rollout.wanted import wanted
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import (
    NAMES,
    api,
    deployment,
    installed,
    now,
    run_lane,
    service,
    state,
)


def again(fake: FakeApi, lane: str = "blue") -> list[str]:
    said: list[str] = []
    init.init(api(fake), NAMES, lane, [deployment(lane, 1)], [deployment(lane, 2)], {}, said.append)
    return said


def test_journal_record_roles_and_slots_are_made() -> None:
    fake = installed()
    assert (state(fake).serving.number, state(fake).serving.lane) == (1, "blue")
    record = records.read(api(fake), NAMES, 1)
    assert record is not None
    assert record.promoted_at is not None
    assert record.commit is None
    assert record.sizes["gateway"].prod == 2
    assert (
        fake.objects[apps(NAMES.lanes, "gateway-blue")]["metadata"]["annotations"][RELEASE] == "1"
    )
    host = service(fake, NAMES.slots, "s0")["spec"]["externalName"]
    assert host == "assistant-stable.switchyard.svc.cluster.local"


def test_a_second_time_nothing_is_written() -> None:
    fake = installed()
    assert "nothing to do" in again(fake)[-1]
    assert fake.verbs("create", "patch", "replace", "apply", "delete") == []


def test_a_missing_slot_is_made_and_the_others_are_not_touched() -> None:
    fake = installed()
    fake.objects.pop(core(NAMES.slots, "services", "s4"))
    again(fake)
    assert fake.verbs("apply") == ["s4"]
    assert fake.verbs("patch") == []


def test_a_lane_that_is_not_ready_is_refused_with_the_next_step() -> None:
    fake = FakeApi()
    with pytest.raises(CannotInit, match="apply deploy/overlays/prod/blue"):
        again(fake)
    run_lane(fake, "blue", 2)
    fake.objects[apps(NAMES.lanes, "gateway-blue")]["status"]["readyReplicas"] = 1
    with pytest.raises(CannotInit):
        again(fake)


@pytest.mark.parametrize("spoilt", [False, True])
def test_a_lost_journal_is_rebuilt_from_services_and_records(spoilt: bool) -> None:
    fake = installed()
    path = core(NAMES.control, "configmaps", NAMES.journal)
    service(fake, NAMES.slots, "s0")["metadata"]["annotations"][EPOCH] = "8"
    if spoilt:
        fake.objects[path]["data"]["state.json"] = "{"
    else:
        fake.objects.pop(path)
    # The lane that is named does not matter: the Services say who serves.
    run_lane(fake, "green", 1)
    again(fake, "green")
    assert (state(fake).serving.number, state(fake).serving.lane) == (1, "blue")
    assert state(fake).epoch == 9
    assert state(fake).next_number == 2


def test_a_client_service_outlives_a_lost_journal_as_it_does_a_split() -> None:
    fake = installed()
    body = role_body(NAMES, NAMES.candidate(2), "blue", 1, wanted(state(fake), NAMES))
    fake.put(core(NAMES.lanes, "services", NAMES.candidate(2)), **body)
    fake.objects.pop(core(NAMES.control, "configmaps", NAMES.journal))
    again(fake)
    until = state(fake).services[2]
    assert until is not None
    assert until > now() + Times().prune_s - 60


@pytest.mark.parametrize("overlay", ["deploy/overlays/prod/blue", "deploy/overlays/canary/blue/"])
def test_either_overlay_of_a_lane_names_both(overlay: str) -> None:
    assert init.overlays(overlay) == ("deploy/overlays/canary/blue", "deploy/overlays/prod/blue")


@pytest.mark.parametrize(
    "overlay", ["", "blue", "deploy/overlays/staging", "deploy/overlays/prod/red"]
)
def test_an_overlay_that_is_no_lane_is_refused(overlay: str) -> None:
    with pytest.raises(CannotInit, match="such as deploy/overlays/prod/blue"):
        init.overlays(overlay)
