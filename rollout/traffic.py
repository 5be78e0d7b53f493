"""What customers sent to both lanes, and the verdict on the candidate."""

from __future__ import annotations

from dataclasses import asdict

from rollout.analysis import AnalysisPlan, judge
from rollout.names import other_lane
from rollout.observation import Traffic
from rollout.samplesource import SampleSource
from rollout.state import State

RATE_S = 30.0


def traffic(state: State, source: SampleSource, plan: AnalysisPlan, now: float) -> Traffic:
    """The rate over the last 30 s; since the step began also the verdict."""
    stable, idle = state.serving.lane, other_lane(state.serving.lane)
    recent = sum(len(source.since(lane, now - RATE_S)) for lane in (stable, idle))
    rate = recent / RATE_S
    candidate = state.candidate
    if candidate is None or not candidate.split or candidate.step_since is None:
        return Traffic(rate=rate)
    one = source.since(candidate.lane, candidate.step_since)
    other = source.since(stable, candidate.step_since)
    verdict = judge(one, other, plan)
    figures = {lane: asdict(value) for lane, value in verdict.figures.items()}
    return Traffic(rate, len(one), len(other), verdict.kind, verdict.why, figures)
