"""A lane that is needed has pods, is missed when it has none, and is met by its Service."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from rollout import actions, handovers, lanes
from rollout.candidate import Phase
from rollout.cluster import apps, core
from rollout.mover import Mover
from rollout.names import EPOCH, RELEASE
from rollout.observation import Lane, Part
from rollout.sequences import read
from rollout.shortfall import shortfalls
from rollout.state import Serving, State
from rollout.status import lines, status
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import NAMES, api, installed, promoted, run_lane, state
from tests.unit.rollout.rollout_world import (
    GOOD,
    PLAN,
    SIZES,
    A,
    World,
    promoted_world,
    running,
    until,
)


def empty(world: World, lane: str, *parts: str) -> None:
    """Somebody scales parts of a lane (all without a name) to 0."""
    one = world.lanes[lane]
    gone = {part: Part(0, 0, True) for part in parts or one.parts}
    world.lanes[lane] = replace(one, parts={**one.parts, **gone})


def dead(world: World, lane: str) -> None:
    """A lane's pods are wanted and not Ready."""
    one = world.lanes[lane]
    parts = {part: replace(size, ready=0, settled=False) for part, size in one.parts.items()}
    world.lanes[lane] = replace(one, parts=parts)


@pytest.mark.parametrize("parts", [(), ("gateway",), ("pipeline",)])
def test_a_lane_that_serves_comes_back_from_0_replicas(parts: tuple[str, ...]) -> None:
    world = World()
    empty(world, "blue", *parts)
    action = world.turn()
    assert isinstance(action, actions.Refill)
    assert (action.number, action.lane) == (1, "blue")
    full = {part: size.prod for part, size in SIZES.items()}
    assert {name: part.replicas for name, part in world.lanes["blue"].parts.items()} == full
    assert isinstance(world.turn(), actions.Wait)


def test_a_lane_that_stands_by_for_an_undo_comes_back_too_until_it_retires() -> None:
    world = promoted_world()
    empty(world, "blue")
    assert isinstance(world.turn(), actions.Refill)
    world.run(2000)
    assert world.lanes["blue"].size == 0
    assert world.state.retire_at is None


def test_another_release_on_the_lane_that_stands_by_is_left_alone() -> None:
    world = promoted_world()
    empty(world, "blue")
    world.lanes["blue"] = replace(world.lanes["blue"], release=9)
    assert not isinstance(world.turn(), actions.Refill)


def test_a_smaller_size_than_full_is_an_autoscalers_business() -> None:
    world = World()
    one = world.lanes["blue"]
    world.lanes["blue"] = replace(one, parts={**one.parts, "gateway": Part(1, 1, True)})
    assert isinstance(world.turn(), actions.Wait)


def test_the_lane_of_a_candidate_is_its_phases_business() -> None:
    world = until(running(), Phase.STEPS, 20)
    empty(world, "green")
    world.run(2000)
    assert "no gateway of lane green is Ready" in world.state.held[A].why


def test_a_share_does_not_go_home_to_a_lane_without_a_ready_pod() -> None:
    world = until(running(), Phase.STEPS, 20)
    dead(world, "blue")
    world.traffic = replace(GOOD, kind="fail", why="P95 too high")
    action = world.turn()
    assert isinstance(action, actions.Wait)
    assert "P95 too high; its share stays, because lane blue has no Ready gateway" in action.why
    world.lanes["blue"] = Lane(1, {p: Part(s.prod, s.prod, True) for p, s in SIZES.items()})
    world.run(2000)
    assert world.state.held[A].verdict == "rejected"
    assert {slot.service for slot in world.slots.values()} == {"assistant-stable"}


def test_a_candidate_that_answers_for_both_is_not_held_for_its_share() -> None:
    world = until(running(), Phase.STEPS, 20)
    dead(world, "blue")
    world.traffic = replace(GOOD, candidate=900, stable=0)
    action = world.turn()
    assert isinstance(action, actions.Wait)
    assert world.state.candidate is not None
    assert world.state.candidate.hold is None
    assert world.state.candidate.split == 20


def test_a_release_does_not_start_on_a_lane_without_its_service() -> None:
    world = until(running(), Phase.START)
    while world.lanes.get("green", Lane()).release != 2:
        world.turn()
    world.lanes["green"] = replace(world.lanes["green"], entrance=False)
    for _ in range(5):
        action = world.turn()
    assert isinstance(action, actions.Wait)
    assert "Service lane-green: it is missing in switchyard" in action.why
    world.now += PLAN.start_max_s + 1
    world.run()
    assert "Service lane-green: it is missing" in world.state.held[A].why
    assert not any(isinstance(one, actions.RunScenarios) for one in world.done)


def test_a_service_that_comes_in_time_lets_the_release_go_on() -> None:
    world = until(running(), Phase.START)
    while world.lanes.get("green", Lane()).release != 2:
        world.turn()
    world.lanes["green"] = replace(world.lanes["green"], entrance=False)
    for _ in range(5):
        world.turn()
    world.lanes["green"] = replace(world.lanes["green"], entrance=True)
    world.run(2000)
    assert world.state.serving.commit == A


def replicas(fake: FakeApi, lane: str) -> int:
    return int(fake.objects[apps(NAMES.lanes, f"gateway-{lane}")]["spec"]["replicas"])


def refill(fake: FakeApi, number: int = 1) -> None:
    action = actions.Refill(state(fake), "", number, "blue")
    Mover(api(fake), NAMES).perform(action, read(api(fake), NAMES))


def test_the_size_comes_from_the_record_and_only_what_is_at_0_is_scaled() -> None:
    fake = installed()
    run_lane(fake, "blue", 0, {RELEASE: "1", EPOCH: "1"})
    refill(fake)
    assert replicas(fake, "blue") == 2
    run_lane(fake, "blue", 1, {RELEASE: "1", EPOCH: "1"})
    refill(fake)
    assert replicas(fake, "blue") == 1


@pytest.mark.parametrize("spoilt", [False, True])
def test_without_a_record_one_pod_is_better_than_none(spoilt: bool) -> None:
    fake = installed()
    path = core(NAMES.control, "configmaps", NAMES.record(1))
    if spoilt:
        fake.objects[path]["data"]["record.json"] = "{"
    else:
        fake.objects.pop(path)
    run_lane(fake, "blue", 0, {RELEASE: "1", EPOCH: "1"})
    refill(fake)
    assert replicas(fake, "blue") == 1


def test_a_look_sees_whether_each_lane_has_its_service() -> None:
    fake = installed()
    fake.objects.pop(core(NAMES.lanes, "services", "lane-blue"))
    run_lane(fake, "green", 1)
    seen = lanes.observe(api(fake), NAMES)
    assert (seen["blue"].entrance, seen["green"].entrance) == (False, True)


SERVES = State(epoch=1, serving=Serving(1, "blue", None, 0.0), next_number=2)
UP = Lane(1, {"gateway": Part(2, 2, True)})


@pytest.mark.parametrize(
    ("lane", "line"),
    [
        (Lane(1, {"gateway": Part(0, 0, True), "pipeline": Part(1, 1, True)}),
         "lane blue: it serves with gateway at 0 replicas: the controller scales them up"),
        (Lane(1, {"gateway": Part(2, 0, False)}),
         "lane blue: it serves without a Ready gateway (0 of 2): look at `kubectl"),
        (Lane(1, {"pipeline": Part(2, 2, True)}),
         "lane blue: it serves without a Deployment of gateway: `rollout undo --to-revision N`"),
        (Lane(), "lane blue: it serves without a Deployment of gateway"),
        (replace(UP, entrance=False),
         "Service lane-blue: it is missing in switchyard, so no scenario reaches the lane: "
         "`kubectl -n switchyard expose deployment gateway-blue --name lane-blue"),
    ],
)  # fmt: skip
def test_each_shortfall_is_a_finding_of_the_status(lane: Lane, line: str) -> None:
    data = status(SERVES, {}, {}, {"blue": lane, "green": Lane()}, NAMES, 5.0)
    told = [one for one in lines(data) if one.startswith("finding ")]
    assert len(told) == 1
    assert line in told[0]
    assert json.loads(json.dumps(data))["findings"][0]["remedy"]


def test_a_lane_that_lacks_nothing_and_one_that_nobody_needs_are_no_findings() -> None:
    idle = Lane(2, {"gateway": Part(0, 0, True)})
    assert shortfalls(SERVES, {"blue": UP, "green": idle}, NAMES, 5.0) == []
    assert shortfalls(SERVES, {"blue": UP}, NAMES, 5.0) == []


def test_what_stands_by_is_missed_until_it_retires() -> None:
    fake = installed()
    promoted(fake)
    now, found = time.time(), {"blue": Lane(1, {"gateway": Part(0, 0, True)}), "green": UP}
    (one,) = shortfalls(state(fake), found, NAMES, now)
    assert str(one).startswith("lane blue: it stands by for an undo with gateway at 0 replicas")
    later = handovers.given_back(state(fake), Serving(1, "green", None, now), "", now)
    retired = replace(later, retained=None)
    assert shortfalls(retired, found, NAMES, now) == []
