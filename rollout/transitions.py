"""How one state follows from another. Pure; used by the controller and by the terminal."""

from __future__ import annotations

from dataclasses import replace

from rollout.names import other_lane
from rollout.state import (
    REFUSED,
    Candidate,
    Ended,
    Held,
    Hold,
    HoldKind,
    Phase,
    Push,
    Restore,
    Serving,
    Size,
    State,
    advance,
    hold_commit,
)


def started(state: State, push: Push, now: float) -> State:
    """A push becomes the candidate for the idle lane, which is its own only once it is verified."""
    held = state.held.get(push.commit)
    hold = (
        held
        and held.binds
        and Hold(HoldKind.CONTAINS, f"{push.commit[:12]} was {held.verdict}: {held.why}", now)
    )
    candidate = Candidate(
        number=state.next_number,
        commit=push.commit,
        lane=other_lane(state.serving.lane),
        pushed_at=push.at,
        phase=Phase.VERIFY,
        since=now,
        branch=push.branch,
        hold=hold or None,
    )
    return replace(
        state,
        candidate=candidate,
        next_number=state.next_number + 1,
        queue=None,
        seen=push.commit,
        said=f"release {candidate.number}: {push.commit[:12]} from {push.by}",
    )


def verified(state: State, candidate: Candidate, sizes: dict[str, Size], now: float) -> State:
    """The candidate takes the idle lane: whatever stood by there is given up."""
    return replace(
        state,
        candidate=advance(candidate, Phase.START, now, sizes=sizes),
        services={**state.services, candidate.number: None},
        retained=None,
        undo_until=None,
        retire_at=None,
    )


def ended(state: State, verdict: str, why: str, now: float) -> State:
    """The candidate is over: no share, and its commit held unless a newer push took its place."""
    candidate = state.candidate
    if candidate is None:
        return state
    held = state.held
    if verdict != "superseded":
        refused = verdict == "rejected" and candidate.phase is Phase.VERIFY
        said = REFUSED if refused else verdict
        held = hold_commit(held, candidate.commit, Held(said, why, now, state.serving.commit))
    had_share = candidate.step_since is not None
    services = dict(state.services)
    if candidate.number in services:
        services[candidate.number] = now + state.times.prune_s if had_share else now
    if candidate.revived:
        return _stood_down(replace(state, services=services), candidate, verdict, why, now)
    retire_at = now + state.times.drain_s if had_share else now
    if candidate.phase is Phase.VERIFY:
        retire_at = state.retire_at or now  # the lane was never its own
    return replace(
        state,
        candidate=None,
        held=held,
        services=services,
        ended=(*state.ended, Ended(candidate.number, verdict, why, now)),
        retire_at=retire_at,
        said=f"release {candidate.number}: {verdict}: {why}",
    )


def promoted(state: State, candidate: Candidate, now: float) -> State:
    """The candidate serves; the old lane stands by until the undo window ends."""
    number = candidate.number
    return replace(
        state,
        serving=Serving(number, candidate.lane, candidate.commit or None, now),
        previous=state.serving,
        retained=state.serving,
        candidate=None,
        services={**state.services, number: now + state.times.prune_s},
        held={commit: one for commit, one in state.held.items() if commit != candidate.commit},
        ended=(*state.ended, Ended(number, "promoted", "; ".join(candidate.passed), now)),
        undo_until=now + state.times.undo_window_s,
        retire_at=now + max(state.times.undo_window_s, state.times.drain_s),
        said=f"release {number} serves on {candidate.lane}",
    )


def revived(state: State, sizes: dict[str, Size], restarts: int, percent: int, now: float) -> State:
    """The retained release gets a share again, by hand; it was examined when it was promoted."""
    back = state.retained
    if back is None:
        return state
    candidate = Candidate(
        number=back.number,
        commit=back.commit or "",
        lane=back.lane,
        pushed_at=now,
        phase=Phase.STEPS,
        since=now,
        sizes=sizes,
        rehearsed=True,
        manual=percent,
        restarts=restarts,
        revived=True,
    )
    said = f"release {back.number} goes to {percent} % again and stays"
    services = {**state.services, back.number: None}
    return replace(
        state, candidate=candidate, services=services, undo_until=None, retire_at=None, said=said
    )


def swapped(state: State, now: float) -> State:
    """The retained release serves again, and the serving one stands by for an undo."""
    back = state.retained
    if back is None:
        return state
    return replace(
        state,
        serving=replace(back, since=now),
        previous=state.serving,
        retained=state.serving,
        held={commit: one for commit, one in state.held.items() if commit != back.commit},
        ended=(*state.ended, Ended(back.number, "promoted", "promoted again by hand", now)),
        undo_until=now + state.times.undo_window_s,
        retire_at=now + max(state.times.undo_window_s, state.times.drain_s),
        said=f"release {back.number} serves on {back.lane} again",
    )


def _stood_down(state: State, candidate: Candidate, verdict: str, why: str, now: float) -> State:
    """A revived release stands by again, as before its share."""
    until = now + state.times.undo_window_s
    return replace(
        state,
        candidate=None,
        undo_until=until if state.previous == state.retained else None,
        retire_at=max(until, now + state.times.drain_s),
        said=f"release {candidate.number}: {verdict}: {why}",
    )


def given_back(state: State, to: Serving, why: str, now: float) -> State:
    """The serving release is undone and `to` serves; a second undo has nothing to undo."""
    old = state.serving
    return replace(
        state,
        serving=replace(to, since=now),
        previous=None,
        retained=old if old.lane != to.lane else None,
        restore=None,
        held=hold_commit(state.held, old.commit, Held("undone", why, now, to.commit)),
        ended=(*state.ended, Ended(old.number, "undone", why, now)),
        undo_until=None,
        retire_at=now + max(state.times.undo_window_s, state.times.drain_s),
        said=f"release {old.number} undone: release {to.number} serves on {to.lane}",
    )


def restoring(state: State, restore: Restore, now: float) -> State:
    """An older release is to serve again and must be started first; a candidate gives way."""
    state = ended(state, "aborted", f"undo to release {restore.number}", now)
    said = f"starting release {restore.number} on {restore.lane}"
    return replace(
        state, restore=restore, retained=None, undo_until=None, retire_at=None, said=said
    )


def adopted(state: State, lane: str, release: int | None, epoch: int, now: float) -> State:
    """The Services were moved without the journal: follow them."""
    why = "undone while the journal could not be read"
    state = ended(replace(state, epoch=epoch), "undone", why, now)
    if lane == state.serving.lane:
        return state
    if state.previous is not None and state.previous.lane == lane:
        return given_back(state, state.previous, why, now)
    number = release if release is not None else state.serving.number
    return given_back(state, Serving(number, lane, None, now), why, now)
