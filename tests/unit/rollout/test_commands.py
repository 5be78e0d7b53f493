"""What a person may ask for, and what is answered when there is nothing to do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rollout import commands, retreat, transitions
from rollout.candidate import Hold, HoldKind, Phase
from rollout.edit import Edit, Known
from rollout.state import MAX_HELD, Held, State
from tests.unit.rollout.rollout_world import first_state, push

SPLIT = transitions.started(first_state(), push(), 0.0)
assert SPLIT.candidate is not None
SPLIT = replace(
    SPLIT,
    candidate=replace(
        SPLIT.candidate, phase=Phase.STEPS, steps=(1, 20, 50), step=1, split=20, step_since=1.0
    ),
)
EARLY = transitions.started(first_state(), push(), 0.0)


@pytest.mark.parametrize(
    "edit",
    [
        retreat.abort(first_state(), 1.0),
        retreat.undo(first_state(), 1.0, None),
        commands.promote(first_state(), 1.0),
        commands.resume(first_state(), 1.0),
        commands.resume(SPLIT, 1.0),
    ],
)
def test_with_nothing_to_do_a_wish_changes_nothing_and_says_so(edit: Edit) -> None:
    assert edit.state is None
    assert edit.said.startswith("nothing ")
    assert not edit.wrong


@pytest.mark.parametrize(
    ("edit", "word"),
    [
        (commands.split(first_state(), 5, 1.0), "nothing is running"),
        (commands.split(SPLIT, 100, 1.0), "rollout promote"),
        (commands.split(SPLIT, 101, 1.0), "0 to 99"),
        (commands.split(SPLIT, -1, 1.0), "0 to 99"),
        (commands.split(EARLY, 5, 1.0), "scenarios come first"),
        (commands.promote(EARLY, 1.0), "scenarios come first"),
        (retreat.undo_to(SPLIT, 1.0, Known(7, None, {}, False)), "never promoted"),
    ],
)
def test_a_wish_that_cannot_be_granted_says_why(edit: Edit, word: str) -> None:
    assert edit.state is None
    assert edit.wrong
    assert word in edit.said
    assert "\n" not in edit.said


def test_undo_and_abort_raise_the_epoch() -> None:
    for edit in (retreat.abort(SPLIT, 2.0), retreat.undo(SPLIT, 2.0, None)):
        assert edit.state is not None
        assert edit.state.epoch == SPLIT.epoch + 1
        assert edit.moves


def test_undo_before_any_share_points_to_abort() -> None:
    edit = retreat.undo(EARLY, 1.0, None)
    assert edit.state is None
    assert "rollout abort" in edit.said


def test_a_split_by_hand_stays_until_it_is_resumed_at_the_next_larger_step() -> None:
    by_hand = commands.split(SPLIT, 30, 2.0).state
    assert by_hand is not None
    assert by_hand.candidate is not None
    assert by_hand.candidate.target == 30
    opened = replace(by_hand, candidate=replace(by_hand.candidate, split=30))
    resumed = commands.resume(opened, 3.0).state
    assert resumed is not None
    assert resumed.candidate is not None
    assert resumed.candidate.target == 50


def test_resume_of_an_inconclusive_step_is_its_approval() -> None:
    assert SPLIT.candidate is not None
    hold = Hold(HoldKind.INCONCLUSIVE, "3 of 30 samples", 5.0)
    state: State = replace(SPLIT, candidate=replace(SPLIT.candidate, hold=hold))
    after = commands.resume(state, 6.0).state
    assert after is not None
    assert after.candidate is not None
    assert after.candidate.target == 50
    assert "approved by hand" in after.candidate.passed[-1]


def test_undo_to_a_release_whose_pods_are_gone_starts_it_and_a_candidate_gives_way() -> None:
    edit = retreat.undo_to(SPLIT, 2.0, Known(7, None, {}, True, "green"))
    assert edit.state is not None
    assert edit.state.candidate is None
    assert edit.state.restore is not None
    assert edit.state.restore.lane == "green"
    again = retreat.undo_to(edit.state, 3.0, Known(7, None, {}, True, "green"))
    assert again.state is None
    assert again.moves


def test_abort_gives_up_an_undo_that_still_waits_for_its_pods() -> None:
    waiting = retreat.undo_to(SPLIT, 2.0, Known(7, None, {}, True, "green")).state
    assert waiting is not None
    edit = retreat.abort(waiting, 3.0)
    assert edit.state is not None
    assert edit.state.restore is None


def test_with_as_many_held_commits_as_the_journal_keeps_no_push_is_taken_up() -> None:
    held = {f"{number:040}": Held("rejected", "x", 0.0) for number in range(MAX_HELD)}
    full = replace(first_state(), held=held)
    edit = commands.push(full, push())
    assert (edit.state, edit.wrong) == (None, True)
    assert "1000 rejected commits are held" in edit.said
    assert "`rollout forget --older-than 90`" in edit.said
    forgotten = commands.forget(full, 1.0).state
    assert forgotten is not None
    assert commands.push(forgotten, push()).state is not None
