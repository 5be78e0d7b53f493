"""One small function a phase of a candidate: what is the next thing to do?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rollout import transitions
from rollout.actions import (
    Action,
    Advance,
    Apply,
    Examine,
    Rehearse,
    RunScenarios,
    Scale,
    Shift,
    Wait,
)
from rollout.names import Names, other_lane
from rollout.observation import JobKind, Lane, Observation
from rollout.plan import merged, replicas_for, share_is_too_large
from rollout.shortfall import no_entrance
from rollout.state import Candidate, Hold, HoldKind, Phase, State, advance

MAX_START_RESTARTS = 3

Step = Callable[[State, Candidate, Observation, float, Names], Action]


def proceed(state: State, seen: Observation, now: float, names: Names) -> Action:
    """The candidate's next action."""
    candidate = state.candidate
    assert candidate is not None
    if candidate.hold is not None:
        return _held(state, candidate, candidate.hold, seen, now, names)
    return _PHASES[candidate.phase](state, candidate, seen, now, names)


def _held(
    state: State, candidate: Candidate, hold: Hold, seen: Observation, now: float, names: Names
) -> Action:
    """A hold waits for a person, but not with a share on a lane that fails."""
    fault = candidate.split and (_fault(candidate, seen, names) or _bad_traffic(candidate, seen))
    if fault:
        return _reject(state, fault, seen, now, names)
    return Wait(state, f"held ({hold.kind}): {hold.why}; `rollout resume` goes on, `abort` ends it")


def too_small(lane: Lane, sizes: dict[str, int]) -> bool:
    """Whether a part has fewer replicas than wanted; a lane with a share is never shrunk."""
    return any(name in lane.parts and lane.parts[name].replicas < n for name, n in sizes.items())


def wrong_size(lane: Lane, sizes: dict[str, int]) -> bool:
    """Whether a part of the lane has other replicas than wanted."""
    return any(name in lane.parts and lane.parts[name].replicas != n for name, n in sizes.items())


def _verify(
    state: State, candidate: Candidate, seen: Observation, now: float, names: Names
) -> Action:
    job = seen.job(JobKind.EXAMINE, candidate.number)
    if job is None:
        return Examine(state, f"examining {candidate.commit[:12]}", candidate.number)
    if not job.done:
        return Wait(state, f"examining {candidate.commit[:12]}: {job.why}")
    if not job.passed:
        return _reject(state, job.why, seen, now, names)
    if job.contains and not candidate.approved:
        return _hold(state, candidate, HoldKind.CONTAINS, job.why, now)
    after = transitions.verified(state, candidate, job.sizes, now)
    return Advance(after, f"release {candidate.number} is verified and rendered")


def _start(
    state: State, candidate: Candidate, seen: Observation, now: float, names: Names
) -> Action:
    lane = seen.lane(candidate.lane)
    if lane.release != candidate.number:
        why = f"release {candidate.number} goes to lane {candidate.lane}, share 0"
        return Apply(state, why, candidate.number, candidate.lane)
    sizes = {part: size.canary for part, size in candidate.sizes.items()}
    if wrong_size(lane, sizes):
        return Scale(state, f"lane {candidate.lane} at canary size", candidate.lane, sizes)
    if not lane.entrance:
        missing = str(no_entrance(candidate.lane, names))
        return _until_ready(state, candidate, missing, seen, now, names)
    rehearsal = seen.job(JobKind.REHEARSE, candidate.number)
    if not candidate.rehearsed and rehearsal is None:
        return Rehearse(state, "rehearsal in staging", candidate.number)
    if rehearsal is not None and rehearsal.done and not rehearsal.passed:
        return _reject(state, f"staging: {rehearsal.why}", seen, now, names)
    if not candidate.rehearsed and rehearsal is not None and rehearsal.done:
        return _change(state, candidate, "the rehearsal passed", rehearsed=True)
    if lane.restarts > candidate.restarts + MAX_START_RESTARTS:
        return _reject(state, f"its pods keep restarting: {lane.trouble}", seen, now, names)
    if not lane.settled:
        return _until_ready(state, candidate, lane.trouble, seen, now, names)
    if not candidate.rehearsed:
        return Wait(state, "the lane is Ready; the rehearsal runs")
    following = advance(candidate, Phase.SCENARIOS, now, restarts=lane.restarts)
    return Advance(replace(state, candidate=following), "lane Ready, rehearsal passed")


def _scenarios(
    state: State, candidate: Candidate, seen: Observation, now: float, names: Names
) -> Action:
    fault = _fault(candidate, seen, names)
    if fault:
        return _reject(state, fault, seen, now, names)
    job = seen.job(JobKind.SCENARIOS, candidate.number)
    if job is None:
        why = f"scenarios on lane {candidate.lane}"
        return RunScenarios(state, why, candidate.number, candidate.lane)
    if not job.done:
        return Wait(state, f"scenarios on lane {candidate.lane}: {job.why}")
    if not job.passed:
        return _reject(state, f"scenarios: {job.why}", seen, now, names)
    steps = merged(seen.plan, seen.traffic.rate)
    following = advance(candidate, Phase.STEPS, now, steps=steps, passed=(job.why,))
    why = f"scenarios passed; steps {', '.join(map(str, steps))} % at {seen.traffic.rate:.1f}/s"
    return Advance(replace(state, candidate=following, said=why), why)


def _steps(
    state: State, candidate: Candidate, seen: Observation, now: float, names: Names
) -> Action:
    fault = _fault(candidate, seen, names) or _bad_traffic(candidate, seen)
    if fault:
        return _reject(state, fault, seen, now, names)
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
    if too_small(lane, sizes):
        return Scale(state, f"replicas for {percent} %", candidate.lane, sizes)
    if not lane.settled:
        return _until_ready(state, candidate, lane.trouble, seen, now, names)
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
        return _change(state, candidate, why, step=candidate.step + 1, passed=passed, since=now)
    if traffic.kind == "inconclusive" and elapsed >= seen.plan.step_max_s:
        return _hold(state, candidate, HoldKind.INCONCLUSIVE, place, now)
    return Wait(state, place)


def _too_much(
    state: State, candidate: Candidate, percent: int, seen: Observation, now: float, names: Names
) -> Action:
    stranded = _stranded(state, seen, names)
    if stranded:
        return Wait(state, f"{stranded}: it takes what the other cannot")
    got = seen.traffic.candidate / (seen.traffic.candidate + seen.traffic.stable)
    why = f"{got:.0%} of the requests reached it at {percent} %; find the client that asks once"
    return _hold(state, replace(candidate, split=0), HoldKind.SHARE, why, now)


def _scale(
    state: State, candidate: Candidate, seen: Observation, now: float, names: Names
) -> Action:
    fault = _fault(candidate, seen, names) or _bad_traffic(candidate, seen)
    if fault:
        return _reject(state, fault, seen, now, names)
    lane = seen.lane(candidate.lane)
    sizes = {part: size.prod for part, size in candidate.sizes.items()}
    if too_small(lane, sizes):
        return Scale(state, f"lane {candidate.lane} at full size", candidate.lane, sizes)
    if not lane.settled:
        return _until_ready(state, candidate, lane.trouble, seen, now, names)
    after = transitions.promoted(state, candidate, now)
    return Shift(after, after.said, settle=False, drain=state.serving.lane)


def _fault(candidate: Candidate, seen: Observation, names: Names) -> str:
    """What is wrong with the lane of an examined candidate; empty if nothing."""
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


def _bad_traffic(candidate: Candidate, seen: Observation) -> str:
    if candidate.split and seen.traffic.kind == "fail":
        return f"at {candidate.split} %: {seen.traffic.why}"
    return ""


def _until_ready(
    state: State, candidate: Candidate, trouble: str, seen: Observation, now: float, names: Names
) -> Action:
    trouble = trouble or "pods are starting"
    if now - candidate.since > seen.plan.start_max_s:
        why = f"not Ready within {seen.plan.start_max_s:.0f} s: {trouble}"
        return _reject(state, why, seen, now, names)
    return Wait(state, f"waiting for Ready: {trouble}")


def _reject(state: State, why: str, seen: Observation, now: float, names: Names) -> Action:
    """No share any more, unless nobody would be there to take it over."""
    stranded = _stranded(state, seen, names)
    if stranded:
        return Wait(state, f"{why}; its share stays, because {stranded}")
    after = transitions.ended(state, "rejected", why, now)
    return Advance(after, after.said)


def _stranded(state: State, seen: Observation, names: Names) -> str:
    """Why the candidate's share cannot go home: nobody would answer it there; else empty."""
    candidate, home = state.candidate, state.serving.lane
    if candidate is None or not candidate.split or seen.lane(home).answers(names.app):
        return ""
    if not seen.lane(candidate.lane).answers(names.app):
        return ""
    return f"lane {home} has no Ready {names.app}"


def _hold(state: State, candidate: Candidate, kind: HoldKind, why: str, now: float) -> Action:
    return _change(state, candidate, f"held: {why}", hold=Hold(kind, why, now))


def _change(state: State, candidate: Candidate, why: str, **changes: Any) -> Action:
    return Advance(replace(state, candidate=replace(candidate, **changes), said=why), why)


_PHASES: dict[Phase, Step] = {
    Phase.VERIFY: _verify,
    Phase.START: _start,
    Phase.SCENARIOS: _scenarios,
    Phase.STEPS: _steps,
    Phase.SCALE: _scale,
}
