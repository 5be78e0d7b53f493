"""A candidate with a share: step by step, then at full size to everything. Pure."""

from __future__ import annotations

from dataclasses import replace

from rollout import outcomes, transitions
from rollout.actions import Action, Advance, Scale, Shift, Wait
from rollout.candidate import Candidate, HoldKind, Phase, advance
from rollout.names import Names
from rollout.observation import Observation
from rollout.plan import replicas_for, share_is_too_large
from rollout.state import State


def steps(
    state: State, candidate: Candidate, seen: Observation, now: float, names: Names
) -> Action:
    """One share after the other, each with its verdict."""
    fault = outcomes.fault(candidate, seen, names)
    if fault:
        return outcomes.reject(state, fault, seen, now, names)
    percent = candidate.target
    if percent is None:
        following = advance(candidate, Phase.SCALE, now)
        return Advance(replace(state, candidate=following), "every step passed")
    sizes = {
        part: size.prod if candidate.revived else replicas_for(size.prod, size.canary, percent)
        for part, size in candidate.sizes.items()
    }
    if candidate.split != percent:
        return _open(state, candidate, percent, sizes, seen, now, names)
    traffic = seen.traffic
    if candidate.manual is None and share_is_too_large(percent, traffic.candidate, traffic.stable):
        return _too_much(state, candidate, percent, seen, now, names)
    return _await_verdict(state, candidate, percent, seen, now)


def _open(
    state: State,
    candidate: Candidate,
    percent: int,
    sizes: dict[str, int],
    seen: Observation,
    now: float,
    names: Names,
) -> Action:
    """Replicas first, then the share."""
    lane = seen.lane(candidate.lane)
    if lane.below(sizes):
        return Scale(state, f"replicas for {percent} %", candidate.lane, sizes)
    if not lane.settled:
        return outcomes.until_ready(state, candidate, lane.trouble, seen, now, names)
    following = replace(candidate, split=percent, step_since=now, since=now)
    after = replace(state, candidate=following, said=f"release {candidate.number} at {percent} %")
    return Shift(after, after.said, settle=percent > 0)


def _await_verdict(
    state: State, candidate: Candidate, percent: int, seen: Observation, now: float
) -> Action:
    traffic, elapsed = seen.traffic, now - (candidate.step_since or now)
    place = f"{percent} % for {elapsed:.0f} s: {traffic.why}"
    if candidate.manual is not None:
        return Wait(state, f"{place}; split by hand, `rollout resume` goes on")
    if traffic.kind == "pass" and elapsed >= seen.plan.soak_s:
        passed = (*candidate.passed, f"{percent} %: {traffic.why}")
        why = f"{percent} % passed: {traffic.why}"
        return outcomes.change(
            state, candidate, why, step=candidate.step + 1, passed=passed, since=now
        )
    if traffic.kind == "inconclusive" and elapsed >= seen.plan.step_max_s:
        return outcomes.hold(state, candidate, HoldKind.INCONCLUSIVE, place, now)
    return Wait(state, place)


def _too_much(
    state: State, candidate: Candidate, percent: int, seen: Observation, now: float, names: Names
) -> Action:
    alone = outcomes.stranded(state, seen, names)
    if alone:
        return Wait(state, f"{alone}: it takes what the other cannot")
    got = seen.traffic.candidate / (seen.traffic.candidate + seen.traffic.stable)
    why = f"{got:.0%} of the requests reached it at {percent} %; find the client that asks once"
    return outcomes.hold(state, replace(candidate, split=0), HoldKind.SHARE, why, now)


def scale(
    state: State, candidate: Candidate, seen: Observation, now: float, names: Names
) -> Action:
    """Full size, then everything."""
    fault = outcomes.fault(candidate, seen, names)
    if fault:
        return outcomes.reject(state, fault, seen, now, names)
    lane = seen.lane(candidate.lane)
    sizes = {part: size.prod for part, size in candidate.sizes.items()}
    if lane.below(sizes):
        return Scale(state, f"lane {candidate.lane} at full size", candidate.lane, sizes)
    if not lane.settled:
        return outcomes.until_ready(state, candidate, lane.trouble, seen, now, names)
    after = transitions.promoted(state, candidate, now)
    return Shift(after, after.said, settle=False, drain=state.serving.lane)
