"""A commit refused before any pod ran it: mended on top, and examined again when pushed again."""

from __future__ import annotations

from rollout import commands, retreat
from rollout.observation import JobKind
from rollout.state import KEPT_REFUSED, REFUSED, Held, hold_commit
from tests.unit.rollout.rollout_world import A, World, push, running
from tests.unit.rollout.test_decide import edit


def refused() -> World:
    world = running()
    world.fails[JobKind.EXAMINE] = "no digest"
    world.run()
    assert world.state.held[A].verdict == REFUSED
    world.fails.clear()
    return world


def test_a_refused_commit_is_examined_again_when_it_is_pushed_again() -> None:
    world = refused()
    edit(world, commands.push(world.state, push(A)))
    world.run(2000)
    assert world.state.serving.commit == A
    assert A not in world.state.held


def test_an_abort_while_it_was_examined_still_needs_a_persons_word() -> None:
    world = running()
    world.turn()
    edit(world, retreat.abort(world.state, world.now))
    world.run()
    assert world.state.held[A].verdict == "aborted"
    edit(world, commands.push(world.state, push(A)))
    world.run(2000)
    assert world.state.candidate is not None
    assert world.state.candidate.hold is not None


def test_reasons_of_refused_commits_are_bounded_and_push_out_no_held_one() -> None:
    held = hold_commit({}, "bad", Held("rejected", "wrong", 0.0))
    for number in range(KEPT_REFUSED + 9):
        held = hold_commit(held, str(number), Held(REFUSED, "no digest", 1.0))
    assert len(held) == KEPT_REFUSED + 1
    assert "bad" in held
    assert str(KEPT_REFUSED + 8) in held
    assert "8" not in held
