"""The order in which traffic moves, and what is waited for in between."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rollout import sequences, transitions
from rollout.candidate import Phase, Size
from rollout.cluster import core, group
from rollout.state import Push, State
from rollout.wanted import wanted
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import (
    COMMIT,
    NAMES,
    align,
    api,
    installed,
    now,
    run_lane,
    service,
    state,
)

CLIENT = NAMES.candidate(2)


@pytest.fixture
def fake() -> FakeApi:
    """Release 1 on blue; release 2 Ready on green, with no share and no Service of its own."""
    fake = installed()
    run_lane(fake, "green", 2)
    return fake


@pytest.fixture
def pauses(fake: FakeApi, monkeypatch: pytest.MonkeyPatch) -> list[tuple[float, bool, bool]]:
    """(seconds, whether the client Service was there, whether a slot named it) of each pause."""
    seen: list[tuple[float, bool, bool]] = []

    def sleep(seconds: float) -> None:
        there = core(NAMES.lanes, "services", CLIENT) in fake.objects
        seen.append((seconds, there, CLIENT in names_of_slots(fake)))

    monkeypatch.setattr(sequences.time, "sleep", sleep)
    return seen


def names_of_slots(fake: FakeApi) -> set[str]:
    slots = (service(fake, NAMES.slots, f"{NAMES.slot_prefix}{slot}") for slot in range(7))
    return {slot["spec"]["externalName"].partition(".")[0] for slot in slots}


def examined(fake: FakeApi) -> State:
    """Release 2 in the steps, without a share yet."""
    started = transitions.started(state(fake), Push(COMMIT, now(), "hook"), now())
    assert started.candidate is not None
    size = {"gateway": Size(1, 2)}
    running = replace(started.candidate, phase=Phase.STEPS, steps=(20, 50), sizes=size)
    return replace(started, candidate=running, services={2: None})


def open_step(fake: FakeApi, before: State) -> None:
    assert before.candidate is not None
    after = replace(before, candidate=replace(before.candidate, split=20, step_since=now()))
    endpoint = {"targetRef": {"name": "gateway-green-0"}, "conditions": {"ready": True}}
    fake.put(
        group("discovery.k8s.io/v1", NAMES.lanes, "endpointslices", f"{CLIENT}-abc"),
        metadata={"labels": {"kubernetes.io/service-name": CLIENT}},
        endpoints=[endpoint],
    )
    found = sequences.read(api(fake), NAMES)
    target = wanted(after, NAMES)
    sequences.shift(api(fake), NAMES, found, target, after.epoch, settle=True)
    assert CLIENT in names_of_slots(fake)


def test_no_slot_names_an_address_that_the_nodes_cannot_know_yet(
    fake: FakeApi, pauses: list[tuple[float, bool, bool]]
) -> None:
    open_step(fake, examined(fake))
    assert pauses == [(sequences.NEW_ADDRESS_S, True, False)]


def test_a_step_to_an_address_of_before_opens_at_once(
    fake: FakeApi, pauses: list[tuple[float, bool, bool]]
) -> None:
    before = examined(fake)
    align(fake, before)
    open_step(fake, before)
    assert pauses == []
