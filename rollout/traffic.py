"""What customers sent to both lanes, and the verdict on the candidate."""

from __future__ import annotations

from dataclasses import asdict, replace

from rollout.analysis import judge
from rollout.discards import Scenarios, compare, said
from rollout.discardsource import DiscardSource
from rollout.names import other_lane
from rollout.observation import Traffic
from rollout.samplesource import SampleSource
from rollout.settings import Settings
from rollout.state import State

RATE_S = 30.0
# What is told stands in the record of each step, and an agent may name any number of scenarios.
TOLD = 10


def traffic(
    state: State,
    source: SampleSource,
    discards: DiscardSource | None,
    settings: Settings,
    now: float,
) -> Traffic:
    """The rate over the last 30 s; since the step began also the verdict."""
    stable, idle = state.serving.lane, other_lane(state.serving.lane)
    recent = sum(len(source.since(lane, now - RATE_S)) for lane in (stable, idle))
    rate = recent / RATE_S
    candidate = state.candidate
    if candidate is None or not candidate.split or candidate.step_since is None:
        return Traffic(rate=rate)
    since = candidate.step_since
    one, other = source.since(candidate.lane, since), source.since(stable, since)
    verdict = judge(one, other, settings.analysis)
    figures = {lane: asdict(value) for lane, value in verdict.figures.items()}
    found = Traffic(rate, len(one), len(other), verdict.kind, verdict.why, figures)
    if discards is None:
        return found
    lanes = discards.since(candidate.lane, since), discards.since(stable, since)
    return weighed(found, *lanes, discards.said, settings)


def weighed(
    traffic: Traffic, one: Scenarios, other: Scenarios, missing: str, settings: Settings
) -> Traffic:
    """The traffic with what both lanes threw away. Only where the settings let it count does
    that change a verdict; `missing` says why the figures are not whole, or is empty."""
    parts = [said(one, other)] if one or other else []
    told = "; ".join([*parts, *([missing] if missing else [])])
    plan = settings.discards
    every = compare(one, other, plan, settings.analysis.min_samples)
    findings = tuple(every[:TOLD])
    traffic = replace(traffic, discards=told, findings=findings)
    if not findings:
        return traffic
    worse = "; ".join(f"{one.where}: {one.what}" for one in findings)
    if len(every) > TOLD:
        worse += f"; and {len(every) - TOLD} more"
    if plan.counts:
        why = f"{traffic.why}; {worse}" if traffic.kind == "fail" else worse
        return replace(traffic, kind="fail", why=why)
    return replace(traffic, why=f"{traffic.why}; told only: {worse}")
