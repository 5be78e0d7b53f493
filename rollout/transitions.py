"""How one state follows from another. Pure; used by the controller and by the terminal."""

from __future__ import annotations

from dataclasses import replace

from rollout.names import other_lane
from rollout.plan import Plan
from rollout.state import (
    Candidate,
    Ended,
    Held,
    Hold,
    HoldKind,
    Phase,
    Push,
    Restore,
    Serving,
    State,
    hold_commit,
)


def started(state: State, push: Push, now: float) -> State:
    """A push becomes the candidate on the idle lane; the undo window, if any, is given up."""
    held = state.held.get(push.commit)
    hold = held and Hold(
        HoldKind.CONTAINS, f"{push.commit[:12]} was {held.verdict}: {held.why}", now
    )
    candidate = Candidate(
        number=state.next_number,
        commit=push.commit,
        lane=other_lane(state.serving.lane),
        pushed_at=push.at,
        phase=Phase.VERIFY,
        since=now,
        subject=push.subject,
        hold=hold or None,
    )
    return replace(
        state,
        candidate=candidate,
        next_number=state.next_number + 1,
        queue=None,
        seen=push.commit,
        undo_until=None,
        retire_at=None,
        said=f"release {candidate.number}: {push.commit[:12]} from {push.by}",
    )


def ended(state: State, verdict: str, why: str, now: float, plan: Plan) -> State:
    """The candidate is over: no share, and its commit held unless a newer push took its place."""
    candidate = state.candidate
    if candidate is None:
        return state
    held = state.held
    if verdict != "superseded":
        held = hold_commit(held, candidate.commit, Held(verdict, why, now))
    had_share = candidate.step_since is not None
    services = dict(state.services)
    if candidate.number in services:
        services[candidate.number] = now + plan.prune_s if had_share else now
    return replace(
        state,
        candidate=None,
        held=held,
        services=services,
        ended=(*state.ended, Ended(candidate.number, verdict, why, now)),
        retire_at=now + plan.drain_s if had_share else now,
        said=f"release {candidate.number}: {verdict}: {why}",
    )


def promoted(state: State, candidate: Candidate, now: float, plan: Plan) -> State:
    """The candidate serves; the old lane stands by until the undo window ends."""
    number = candidate.number
    return replace(
        state,
        serving=Serving(number, candidate.lane, candidate.commit, now),
        previous=state.serving,
        candidate=None,
        services={**state.services, number: now + plan.prune_s},
        ended=(*state.ended, Ended(number, "promoted", "; ".join(candidate.passed), now)),
        undo_until=now + plan.undo_window_s,
        retire_at=now + max(plan.undo_window_s, plan.drain_s),
        said=f"release {number} serves on {candidate.lane}",
    )


def given_back(state: State, to: Serving, why: str, now: float, plan: Plan) -> State:
    """The serving release is undone and `to` serves; a second undo has nothing to undo."""
    old = state.serving
    return replace(
        state,
        serving=replace(to, since=now),
        previous=None,
        restore=None,
        held=hold_commit(state.held, old.commit, Held("undone", why, now)),
        ended=(*state.ended, Ended(old.number, "undone", why, now)),
        undo_until=None,
        retire_at=now + plan.drain_s,
        said=f"release {old.number} undone: release {to.number} serves on {to.lane}",
    )


def restoring(state: State, restore: Restore, now: float, plan: Plan) -> State:
    """An older release is to serve again and must be started first; a candidate gives way."""
    state = ended(state, "aborted", f"undo to release {restore.number}", now, plan)
    said = f"starting release {restore.number} on {restore.lane}"
    return replace(state, restore=restore, undo_until=None, retire_at=None, said=said)


def adopted(
    state: State, lane: str, release: int | None, epoch: int, now: float, plan: Plan
) -> State:
    """The Services were moved without the journal: follow them."""
    why = "undone while the journal could not be read"
    state = ended(replace(state, epoch=epoch), "undone", why, now, plan)
    if lane == state.serving.lane:
        return state
    if state.previous is not None and state.previous.lane == lane:
        return given_back(state, state.previous, why, now, plan)
    number = release if release is not None else state.serving.number
    return given_back(state, Serving(number, lane, None, now), why, now, plan)
