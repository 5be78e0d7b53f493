"""A candidate before its first share: examined, started, rehearsed, played through. Pure."""

from __future__ import annotations

from dataclasses import replace

from rollout import outcomes, transitions
from rollout.actions import Action, Advance, Apply, Examine, Rehearse, RunScenarios, Scale, Wait
from rollout.candidate import Candidate, HoldKind, Phase, advance
from rollout.names import Names
from rollout.observation import JobKind, Observation
from rollout.plan import merged
from rollout.shortfall import no_entrance
from rollout.state import State

MAX_START_RESTARTS = 3


def verify(
    state: State, candidate: Candidate, seen: Observation, now: float, names: Names
) -> Action:
    """Signatures, rendering and lint, in a job."""
    job = seen.job(JobKind.EXAMINE, candidate.number)
    if job is None:
        return Examine(state, f"examining {candidate.commit[:12]}", candidate.number)
    if not job.done:
        return Wait(state, f"examining {candidate.commit[:12]}: {job.why}")
    if not job.passed:
        return outcomes.reject(state, job.why, seen, now, names)
    if job.contains and not candidate.approved:
        return outcomes.hold(state, candidate, HoldKind.CONTAINS, job.why, now)
    after = transitions.verified(state, candidate, job.sizes, now)
    return Advance(after, f"release {candidate.number} is verified and rendered")


def start(
    state: State, candidate: Candidate, seen: Observation, now: float, names: Names
) -> Action:
    """The idle lane's pods at canary size, and the rehearsal beside them."""
    lane = seen.lane(candidate.lane)
    if lane.release != candidate.number:
        why = f"release {candidate.number} goes to lane {candidate.lane}, share 0"
        return Apply(state, why, candidate.number, candidate.lane)
    sizes = {part: size.canary for part, size in candidate.sizes.items()}
    if lane.differs(sizes):
        return Scale(state, f"lane {candidate.lane} at canary size", candidate.lane, sizes)
    if not lane.entrance:
        missing = str(no_entrance(candidate.lane, names))
        return outcomes.until_ready(state, candidate, missing, seen, now, names)
    rehearsal = seen.job(JobKind.REHEARSE, candidate.number)
    if not candidate.rehearsed and rehearsal is None:
        return Rehearse(state, "rehearsal in staging", candidate.number)
    if rehearsal is not None and rehearsal.done and not rehearsal.passed:
        return outcomes.reject(state, f"staging: {rehearsal.why}", seen, now, names)
    if not candidate.rehearsed and rehearsal is not None and rehearsal.done:
        return outcomes.change(state, candidate, "the rehearsal passed", rehearsed=True)
    if lane.restarts > candidate.restarts + MAX_START_RESTARTS:
        return outcomes.reject(state, f"its pods keep restarting: {lane.trouble}", seen, now, names)
    if not lane.settled:
        return outcomes.until_ready(state, candidate, lane.trouble, seen, now, names)
    if not candidate.rehearsed:
        return Wait(state, "the lane is Ready; the rehearsal runs")
    following = advance(candidate, Phase.SCENARIOS, now, restarts=lane.restarts)
    return Advance(replace(state, candidate=following), "lane Ready, rehearsal passed")


def scenarios(
    state: State, candidate: Candidate, seen: Observation, now: float, names: Names
) -> Action:
    """Business scenarios on the candidate's lane; then the steps are planned."""
    fault = outcomes.fault(candidate, seen, names)
    if fault:
        return outcomes.reject(state, fault, seen, now, names)
    job = seen.job(JobKind.SCENARIOS, candidate.number)
    if job is None:
        why = f"scenarios on lane {candidate.lane}"
        return RunScenarios(state, why, candidate.number, candidate.lane)
    if not job.done:
        return Wait(state, f"scenarios on lane {candidate.lane}: {job.why}")
    if not job.passed:
        return outcomes.reject(state, f"scenarios: {job.why}", seen, now, names)
    steps = merged(seen.plan, seen.traffic.rate)
    following = advance(candidate, Phase.STEPS, now, steps=steps, passed=(job.why,))
    why = f"scenarios passed; steps {', '.join(map(str, steps))} % at {seen.traffic.rate:.1f}/s"
    return Advance(replace(state, candidate=following, said=why), why)
