"""The road of a release, its holds, and what happens when the process dies on the way."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rollout import actions, commands, retreat, transitions
from rollout.candidate import HoldKind, Phase, Size
from rollout.decide import decide
from rollout.edit import Edit, Known
from rollout.observation import JobKind, Lane, Part, Role, Slot, Traffic
from rollout.state import Serving, State, Times
from rollout.wanted import wanted
from tests.unit.rollout.rollout_world import (
    GOOD,
    NAMES,
    PLAN,
    SIZES,
    TIMES,
    A,
    Killed,
    World,
    promoted_world,
    push,
    running,
    until,
)

FEW = Traffic(rate=100, candidate=3, stable=900, kind="inconclusive", why="3 of 30 samples")
BAD = Traffic(rate=100, candidate=60, stable=900, kind="fail", why="P95 too high")
B, C = "b" * 40, "c" * 40


def edit(world: World, change: Edit) -> Edit:
    if change.state is not None:
        world.write(change.state)
    return change


def kinds(world: World) -> list[str]:
    return [type(action).__name__ for action in world.done if not isinstance(action, actions.Wait)]


def test_a_good_push_goes_all_the_way_and_the_old_lane_retires_after_the_window() -> None:
    world = running()
    world.run(2000)
    state = world.state
    assert (state.serving.number, state.serving.lane, state.serving.commit) == (2, "green", A)
    assert state.candidate is None
    assert state.previous is not None
    assert state.previous.number == 1
    assert world.lanes["blue"].size == 0
    assert world.records == {2: ["promoted"]}
    assert {slot.service for slot in world.slots.values()} == {"assistant-stable"}


def test_the_order_is_examine_apply_rehearse_scenarios_then_one_shift_a_step() -> None:
    world = running()
    world.run(2000)
    names = [name for name in kinds(world) if name not in ("Advance", "Scale", "Record")]
    # The first Shift makes the client Service; then three steps; then the promotion.
    assert names[:5] == ["Examine", "Shift", "Apply", "Rehearse", "RunScenarios"]
    assert names[5:9] == ["Shift"] * 4


def test_replicas_are_raised_before_the_step_that_needs_them() -> None:
    world = until(running(), Phase.STEPS, 50)
    assert world.lanes["green"].parts["gateway"].replicas == 2
    assert world.lanes["blue"].parts["gateway"].replicas == 3


@pytest.mark.parametrize("kind", list(JobKind))
def test_a_failed_job_rejects_the_commit_and_no_slot_ever_moves(kind: JobKind) -> None:
    world = running()
    world.fails[kind] = "because"
    world.run()
    assert world.state.candidate is None
    refused = kind is JobKind.EXAMINE
    assert world.state.held[A].verdict == ("refused" if refused else "rejected")
    assert "because" in world.state.held[A].why
    assert {slot.service for slot in world.slots.values()} == {"assistant-stable"}
    assert not any(isinstance(a, actions.Shift) and a.settle for a in world.done)


def test_a_bad_verdict_during_a_step_undoes_it_at_once() -> None:
    world = until(running(), Phase.STEPS, 20)
    world.traffic = BAD
    world.turn()
    action = world.turn()
    assert isinstance(action, actions.Shift)
    assert action.drain == "green"
    assert {slot.service for slot in world.slots.values()} == {"assistant-stable"}
    assert world.state.held[A].verdict == "rejected"


def test_too_few_samples_are_a_hold_and_never_a_pass() -> None:
    world = until(running(), Phase.STEPS, 1)
    world.traffic = FEW
    world.run()
    candidate = world.state.candidate
    assert candidate is not None
    assert candidate.hold is not None
    assert candidate.hold.kind is HoldKind.INCONCLUSIVE
    assert candidate.split == 1
    edit(world, commands.resume(world.state, world.now))
    world.traffic = GOOD
    world.run(2000)
    assert world.state.serving.commit == A


def test_a_held_share_is_taken_away_when_its_lane_fails() -> None:
    world = until(running(), Phase.STEPS, 1)
    world.traffic = FEW
    world.run()
    world.traffic = BAD
    world.run()
    assert world.state.held[A].verdict == "rejected"


def test_more_than_twice_the_share_means_split_0_and_hold() -> None:
    world = until(running(), Phase.STEPS, 20)
    world.traffic = replace(GOOD, candidate=700, stable=300)
    world.run()
    candidate = world.state.candidate
    assert candidate is not None
    assert candidate.hold is not None
    assert (candidate.hold.kind, candidate.split) == (HoldKind.SHARE, 0)
    assert {slot.service for slot in world.slots.values()} == {"assistant-stable"}


@pytest.mark.parametrize("phase", [Phase.VERIFY, Phase.START, Phase.SCENARIOS])
def test_a_second_push_supersedes_before_the_scenarios_passed(phase: Phase) -> None:
    world = until(running(), phase)
    edit(world, commands.push(world.state, push(B)))
    world.run(2000)
    assert world.state.serving.commit == B
    assert A not in world.state.held
    assert world.records[2] == ["superseded"]


@pytest.mark.parametrize("phase", [Phase.STEPS, Phase.SCALE])
def test_a_second_push_waits_once_the_scenarios_have_passed(phase: Phase) -> None:
    world = until(running(), phase)
    edit(world, commands.push(world.state, push(B, world.now)))
    for _ in range(100):
        world.turn()
        if world.state.serving.commit == A:
            break
    assert world.state.serving.commit == A
    assert world.state.queue is not None
    assert world.state.queue.commit == B


def test_the_newest_of_several_waiting_pushes_is_the_one_that_waits() -> None:
    world = until(running(), Phase.STEPS)
    edit(world, commands.push(world.state, push(B)))
    edit(world, commands.push(world.state, push(C)))
    assert world.state.queue is not None
    assert world.state.queue.commit == C


def test_a_push_in_the_undo_window_waits_unless_it_gives_the_undo_up() -> None:
    world = promoted_world()
    edit(world, commands.push(world.state, push(B, world.now)))
    assert isinstance(world.turn(), actions.Wait)
    assert world.state.candidate is None
    edit(world, commands.push(world.state, push(B, world.now, give_up_undo=True)))
    world.turn()
    assert world.state.candidate is not None
    assert world.state.candidate.lane == "blue"


def test_a_push_that_waited_for_the_window_starts_when_it_ends() -> None:
    world = promoted_world()
    edit(world, commands.push(world.state, push(B, world.now)))
    world.run(2000)
    assert world.state.serving.commit == B


def test_a_rejected_commit_pushed_again_is_held_until_a_person_resumes_it() -> None:
    world = running()
    world.fails[JobKind.SCENARIOS] = "wrong answer"
    world.run()
    world.fails.clear()
    edit(world, commands.push(world.state, push(A)))
    world.run()
    candidate = world.state.candidate
    assert candidate is not None
    assert candidate.hold is not None
    assert "wrong answer" in candidate.hold.why
    edit(world, commands.resume(world.state, world.now))
    world.run(2000)
    assert world.state.serving.commit == A


def test_a_descendant_of_a_rejected_commit_is_held() -> None:
    world = running(B)
    world.contains = A
    world.run()
    candidate = world.state.candidate
    assert candidate is not None
    assert candidate.hold is not None
    assert candidate.hold.kind is HoldKind.CONTAINS


def test_a_restarting_pod_ends_the_split() -> None:
    world = until(running(), Phase.STEPS, 20)
    world.lanes["green"] = replace(world.lanes["green"], restarts=1, trouble="OOMKilled")
    world.run()
    assert "OOMKilled" in world.state.held[A].why


def test_a_lane_that_never_gets_ready_is_rejected_in_time() -> None:
    world = until(running(), Phase.START)
    for _ in range(4):
        world.turn()
    lane = Lane(2, {"gateway": Part(1, 0, False), "pipeline": Part(1, 1, True)}, 0, "pulling")
    world.lanes["green"] = lane
    world.turn()
    assert world.state.candidate is not None
    world.now += PLAN.start_max_s + 1
    world.run()
    assert "pulling" in world.state.held[A].why


def undo_is_complete(world: World, lane: str) -> None:
    """All slots name stable and every selector has the winning lane."""
    assert {slot.service for slot in world.slots.values()} == {"assistant-stable"}
    assert {role.lane for role in world.roles.values()} == {lane}


def moments() -> list[tuple[Phase, int]]:
    return [(Phase.STEPS, 0), (Phase.STEPS, 1), (Phase.STEPS, 50), (Phase.SCALE, 50)]


@pytest.mark.parametrize(("phase", "split"), moments())
def test_undo_is_reachable_whenever_a_candidate_may_have_a_share(phase: Phase, split: int) -> None:
    world = until(running(), phase, split)
    change = edit(world, retreat.undo(world.state, world.now, None))
    if world.state.candidate is not None:  # scenarios passed, but no step opened yet
        assert "no share" in change.said
        edit(world, retreat.abort(world.state, world.now))
    world.run()
    undo_is_complete(world, "blue")
    assert world.state.held[A].verdict in ("undone", "aborted")


def test_undo_after_promotion_goes_back_once_and_then_says_there_is_nothing() -> None:
    world = promoted_world()
    known = Known(1, None, {}, True, "blue", runs=True)
    change = edit(world, retreat.undo(world.state, world.now, known))
    assert change.moves
    world.run()
    undo_is_complete(world, "blue")
    assert world.lanes["green"].size == 0
    again = retreat.undo(world.state, world.now, known)
    assert again.state is None
    assert "nothing to undo" in again.said
    assert not again.wrong


def test_undo_after_the_window_starts_the_old_release_again_and_then_moves() -> None:
    world = running()
    world.run(2000)
    assert world.lanes["blue"].size == 0
    sizes = {"gateway": Size(1, 3), "pipeline": Size(1, 2)}
    edit(
        world,
        retreat.undo(world.state, world.now, Known(1, None, sizes, True, "blue", False)),
    )
    world.run(2000)
    undo_is_complete(world, "blue")
    assert world.state.serving.number == 1


def test_an_undo_without_the_journal_is_followed_by_the_controller() -> None:
    world = promoted_world()
    world.roles = {name: Role("blue", 9, 1, "") for name in world.roles}
    world.slots = {name: Slot("assistant-stable", 9) for name in world.slots}
    world.run()
    undo_is_complete(world, "blue")
    assert (world.state.serving.number, world.state.epoch) == (1, 10)
    assert world.state.held[A].verdict == "undone"


def test_every_shift_is_idempotent() -> None:
    world = until(running(), Phase.STEPS, 20)
    world.turn()
    shifts = [action for action in world.done if isinstance(action, actions.Shift)]
    before = (dict(world.roles), dict(world.slots))
    world.shift(shifts[-1])
    assert (world.roles, world.slots) == before


def one_road(lives: int, undo: bool) -> bool:
    """A whole release with a kill before the `lives`-th effect; False if it outlived the road."""
    world = running()
    world.lives = lives
    killed = False
    try:
        world.run(2000)
    except Killed:
        killed = True
        world.kill()
    world.lives = None
    if killed:
        world.write(replace(world.state, epoch=world.state.epoch + 1))
    if undo and killed:
        edit(world, retreat.abort(world.state, world.now))
    world.run(2000)
    state = world.state
    if undo and killed and state.serving.number == 1:
        undo_is_complete(world, "blue")
    else:
        assert state.serving.commit == A
        undo_is_complete(world, "green")
        assert "promoted" in world.records[2]
    assert {slot.epoch for slot in world.slots.values()} == {state.epoch}
    return killed


@pytest.mark.parametrize("undo", [False, True])
def test_killed_before_any_effect_the_next_process_continues(undo: bool) -> None:
    lives = 0
    while one_road(lives, undo):
        lives += 1
    assert lives > 40


def test_a_client_service_selects_the_candidate_only_between_0_and_100() -> None:
    state: State = until(running(), Phase.STEPS, 1).state
    client = NAMES.candidate(2)
    assert wanted(state, NAMES).roles[client] == "green"
    assert state.candidate is not None
    closed = replace(state, candidate=replace(state.candidate, split=0))
    assert wanted(closed, NAMES).roles[client] == "blue"
    done = transitions.promoted(state, state.candidate, 0)
    assert wanted(done, NAMES).roles == {"assistant-stable": "green", client: "green"}
    assert set(wanted(done, NAMES).slots.values()) == {"assistant-stable"}


def test_client_services_are_pruned_a_day_later() -> None:
    world = promoted_world()
    world.run(2000)
    assert NAMES.candidate(2) in world.roles
    world.now += TIMES.prune_s
    world.run()
    assert NAMES.candidate(2) not in world.roles
    assert world.state.services == {}


def test_drift_of_a_slot_is_put_right_before_anything_else() -> None:
    world = running()
    world.slots["s3"] = Slot("elsewhere.example.", 1)
    action = decide(world.state, world.look(), 0.0, NAMES)
    assert isinstance(action, actions.Shift)


def test_a_new_epoch_is_stamped_on_every_object() -> None:
    world = World()
    world.write(replace(world.state, epoch=5))
    action = world.turn()
    assert isinstance(action, actions.Shift)
    assert action.drain is None
    assert {item.epoch for item in [*world.roles.values(), *world.slots.values()]} == {5}


def test_a_push_of_what_serves_is_dropped_with_a_word() -> None:
    world = World()
    world.write(replace(world.state, serving=Serving(1, "blue", A, 0.0), queue=push(A)))
    assert "already serves" in world.turn().why
    assert world.state.queue is None


def test_undo_and_promote_can_be_repeated_while_the_other_lane_stands_by() -> None:
    world = promoted_world()
    old, new = Known(1, None, SIZES, True, "blue", True), Known(2, A, SIZES, True, "green", True)
    for _ in range(3):
        edit(world, retreat.undo(world.state, world.now, old))
        world.turn()
        undo_is_complete(world, "blue")
        edit(world, commands.promote(world.state, world.now, new))
        world.turn()
        undo_is_complete(world, "green")
    world.run()
    assert world.state.serving.number == 2
    assert world.lanes["blue"].size == 0
    assert A not in world.state.held


def test_a_retained_release_can_be_given_a_share_by_hand_again_and_again() -> None:
    world = promoted_world()
    edit(
        world,
        retreat.undo(world.state, world.now, Known(1, None, SIZES, True, "blue", True)),
    )
    world.turn()
    new = Known(2, A, SIZES, True, "green", True)
    for _ in range(2):
        edit(world, commands.split(world.state, 30, world.now, new))
        until(world, Phase.STEPS, 30)
        world.turn()
        assert world.roles[NAMES.candidate(2)].lane == "green"
        edit(world, retreat.undo(world.state, world.now, None))
        world.turn()
        undo_is_complete(world, "blue")
    edit(world, commands.split(world.state, 30, world.now, new))
    until(world, Phase.STEPS, 30)
    edit(world, commands.promote(world.state, world.now))
    world.run()
    undo_is_complete(world, "green")


def test_what_an_admin_applied_can_get_a_share_again_and_serve_again() -> None:
    world = promoted_world()
    old = Known(1, None, SIZES, True, "blue", True)
    edit(world, commands.split(world.state, 10, world.now, old))
    until(world, Phase.STEPS, 10)
    world.turn()
    assert world.roles[NAMES.candidate(1)].lane == "blue"
    edit(world, retreat.undo(world.state, world.now, None))
    world.turn()
    undo_is_complete(world, "green")
    assert world.state.in_undo_window(world.now)
    edit(world, commands.split(world.state, 10, world.now, old))
    edit(world, commands.promote(world.state, world.now))
    world.run()
    undo_is_complete(world, "blue")
    assert world.state.serving.commit is None


def test_the_times_of_the_settings_go_into_the_journal_where_a_terminal_finds_them() -> None:
    world = World()
    world.write(replace(world.state, times=Times(1, 2, 3)))
    world.turn()
    assert world.state.times == TIMES


def test_a_lane_with_a_share_is_never_shrunk() -> None:
    world = until(running(), Phase.STEPS, 50)
    edit(world, commands.split(world.state, 1, world.now))
    until(world, Phase.STEPS, 1)
    assert world.lanes["green"].parts["gateway"].replicas == 2


def test_a_refused_commit_costs_no_undo_window() -> None:
    world = promoted_world()
    before = world.state
    world.fails[JobKind.EXAMINE] = "unsigned"
    edit(world, commands.push(world.state, push(B, world.now, give_up_undo=True)))
    for _ in range(8):
        world.turn()
    after = world.state
    assert after.held[B].verdict == "refused"
    assert (after.undo_until, after.retire_at) == (before.undo_until, before.retire_at)
    assert after.retained == before.retained
    edit(world, retreat.undo(after, world.now, Known(1, None, SIZES, True, "blue", True)))
    world.turn()
    undo_is_complete(world, "blue")


def test_undo_goes_back_at_once_while_a_push_is_only_being_verified() -> None:
    world = promoted_world()
    edit(world, commands.push(world.state, push(B, world.now, give_up_undo=True)))
    world.turn()
    assert world.state.candidate is not None
    edit(world, retreat.undo(world.state, world.now, Known(1, None, SIZES, True, "blue", True)))
    world.run()
    undo_is_complete(world, "blue")
    assert world.state.candidate is None


def test_staging_left_up_by_a_killed_process_goes_to_0() -> None:
    world = World()
    world.staging = 3
    world.turn()
    assert world.staging == 0


def test_a_candidate_whose_pods_die_before_its_first_slot_is_rejected() -> None:
    world = until(running(), Phase.STEPS, 1)
    world.roles[NAMES.candidate(2)] = Role("blue", 1)
    world.slots = {name: Slot("assistant-stable", 1) for name in world.slots}
    world.lanes["green"] = Lane(2, {"gateway": Part(1, 0, False)}, 0, "gone")
    world.run()
    assert "gone" in world.state.held[A].why
    undo_is_complete(world, "blue")


def test_when_neither_lane_answers_the_candidate_is_not_blamed() -> None:
    world = until(running(), Phase.STEPS, 1)
    for lane, number in (("blue", 1), ("green", 2)):
        world.lanes[lane] = Lane(number, {"gateway": Part(1, 0, False)})
    world.turn()
    assert A not in world.state.held


def test_a_split_by_hand_is_not_taken_away_for_its_share() -> None:
    world = until(running(), Phase.STEPS, 20)
    edit(world, commands.split(world.state, 5, world.now))
    world.traffic = replace(GOOD, candidate=700, stable=300)
    world.run()
    assert world.state.candidate is not None
    assert world.state.candidate.split == 5


def test_a_service_that_only_looks_like_a_slot_keeps_nobody_busy() -> None:
    world = World()
    world.slots["s7"] = Slot("elsewhere", 0)
    assert isinstance(world.turn(), actions.Wait)
