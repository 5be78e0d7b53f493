"""What may become of a candidate in any phase: it waits, is held, or ends. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rollout import transitions
from rollout.actions import Action, Advance, Wait
from rollout.candidate import Candidate, Hold, HoldKind
from rollout.names import Names, other_lane
from rollout.observation import Observation
from rollout.state import State


def fault(candidate: Candidate, seen: Observation, names: Names) -> str:
    """What speaks against an examined candidate, of its lane or its answers; empty if nothing."""
    return _lane_fault(candidate, seen, names) or _traffic_fault(candidate, seen)


def _lane_fault(candidate: Candidate, seen: Observation, names: Names) -> str:
    lane = seen.lane(candidate.lane)
    if lane.release != candidate.number:
        return f"lane {candidate.lane} runs release {lane.release}: somebody else applied to it"
    if lane.restarts > candidate.restarts:
        return f"a pod of lane {candidate.lane} restarted: {lane.trouble}"
    # When neither lane answers, the node or the network is down, not the candidate.
    other = seen.lane(other_lane(candidate.lane))
    if not lane.answers(names.app) and other.answers(names.app):
        return f"no {names.app} of lane {candidate.lane} is Ready: {lane.trouble}"
    return ""


def _traffic_fault(candidate: Candidate, seen: Observation) -> str:
    if candidate.split and seen.traffic.kind == "fail":
        return f"at {candidate.split} %: {seen.traffic.why}"
    return ""


def until_ready(
    state: State, candidate: Candidate, trouble: str, seen: Observation, now: float, names: Names
) -> Action:
    """Wait for the lane's pods, at most as long as the plan allows."""
    trouble = trouble or "pods are starting"
    if now - candidate.since > seen.plan.start_max_s:
        why = f"not Ready within {seen.plan.start_max_s:.0f} s: {trouble}"
        return reject(state, why, seen, now, names)
    return Wait(state, f"waiting for Ready: {trouble}")


def reject(state: State, why: str, seen: Observation, now: float, names: Names) -> Action:
    """No share any more, unless nobody would be there to take it over."""
    alone = stranded(state, seen, names)
    if alone:
        return Wait(state, f"{why}; its share stays, because {alone}")
    after = transitions.ended(state, "rejected", why, now)
    return Advance(after, after.said)


def stranded(state: State, seen: Observation, names: Names) -> str:
    """Why the candidate's share cannot go home: nobody would answer it there; else empty."""
    candidate, home = state.candidate, state.serving.lane
    if candidate is None or not candidate.split or seen.lane(home).answers(names.app):
        return ""
    if not seen.lane(candidate.lane).answers(names.app):
        return ""
    return f"lane {home} has no Ready {names.app}"


def hold(state: State, candidate: Candidate, kind: HoldKind, why: str, now: float) -> Action:
    """The candidate waits for a person."""
    return change(state, candidate, f"held: {why}", hold=Hold(kind, why, now))


def change(state: State, candidate: Candidate, why: str, **changes: Any) -> Action:
    """Only the candidate changes."""
    return Advance(replace(state, candidate=replace(candidate, **changes), said=why), why)
