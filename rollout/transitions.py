"""How one state follows from another. Pure; used by the controller and by the terminal."""

from __future__ import annotations

from dataclasses import replace

from rollout.candidate import Candidate, Hold, HoldKind, Phase, Size, advance
from rollout.names import other_lane
from rollout.state import REFUSED, Ended, Held, Push, Serving, State, hold_commit


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
