"""Compare a candidate's samples with those of the serving lane at the same time."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rollout.percentile import p95
from rollout.samples import Sample

Kind = Literal["pass", "fail", "inconclusive"]
CLIENT_GONE = 499
# One-sided 1 %: with a look at every step, 5 % would undo one good release in a few.
CLEARLY = 2.33


@dataclass(frozen=True)
class AnalysisPlan:
    """When a candidate passes. Shares are 0 to 1, times P95 in ms.

    A P95 fails above its limit, or above `factor` times the serving lane's plus `floor_ms`
    (so that 4 ms against 2 ms is no verdict).
    """

    min_samples: int = 30
    success: float = 0.95
    first_ms: float = 1200.0
    total_ms: float = 1200.0
    factor: float = 1.5
    floor_ms: float = 150.0
    least_drop: float = 0.01


@dataclass(frozen=True)
class Figures:
    """What one lane's samples say. `refused` are 4xx replies, which are the clients' doing."""

    samples: int
    clients: int
    good: int
    refused: int
    success: float
    p95_first_ms: float
    p95_total_ms: float


@dataclass(frozen=True)
class Verdict:
    """`why` is one line for a person; `figures` has "candidate" and "stable"."""

    kind: Kind
    why: str
    figures: dict[str, Figures] = field(default_factory=dict)


def judge(candidate: Sequence[Sample], stable: Sequence[Sample], plan: AnalysisPlan) -> Verdict:
    """Too few samples of the candidate is "inconclusive", never "pass".

    A clear failure needs no more samples than it takes: once so many requests failed that
    `min_samples` could not mend the share any more, the verdict is "fail".
    """
    one, other = figures(candidate, plan), figures(stable, plan)
    both = {"candidate": one, "stable": other}
    bad = one.samples - one.good
    if one.samples < plan.min_samples:
        if bad > plan.min_samples * (1 - plan.success):
            why = f"{bad} of only {one.samples} requests failed"
            return Verdict("fail", why, both)
        why = f"{one.samples} of {plan.min_samples} samples"
        return Verdict("inconclusive", why, both)
    faults = _success_faults(one, other, plan) + _latency_faults(one, other, plan)
    if faults:
        return Verdict("fail", "; ".join(faults), both)
    why = (
        f"{one.samples} samples, {one.success:.1%} good, "
        f"P95 first {one.p95_first_ms:.0f} ms, whole {one.p95_total_ms:.0f} ms"
    )
    return Verdict("pass", why, both)


def figures(samples: Sequence[Sample], plan: AnalysisPlan) -> Figures:
    """Count and time a lane's samples; synthetic customers never count."""
    real = [s for s in samples if not s.synthetic]
    refused = [s for s in real if _refused(s)]
    counted = [s for s in real if not _refused(s) and not _left_early(s, plan)]
    good = [s for s in counted if _good(s)]
    return Figures(
        samples=len(counted),
        clients=len({s.client for s in counted}),
        good=len(good),
        refused=len(refused),
        success=len(good) / len(counted) if counted else 0.0,
        p95_first_ms=p95(s.first_ms for s in good),
        p95_total_ms=p95(s.total_ms for s in good),
    )


def _refused(sample: Sample) -> bool:
    return 400 <= sample.http < 500 and sample.http != CLIENT_GONE


def _good(sample: Sample) -> bool:
    return sample.http == 200 and sample.status in ("ok", "stopped")


def _left_early(sample: Sample, plan: AnalysisPlan) -> bool:
    """A client that left says nothing, unless it had to wait longer than the limit."""
    waited = sample.total_ms if not sample.first_ms else sample.first_ms
    return sample.http == CLIENT_GONE and waited <= plan.first_ms


def _success_faults(one: Figures, other: Figures, plan: AnalysisPlan) -> list[str]:
    if one.success < plan.success:
        return [f"{one.success:.1%} of {one.samples} good, {plan.success:.0%} needed"]
    faults = []
    if clearly_more(
        one.samples - one.good,
        one.samples,
        other.samples - other.good,
        other.samples,
        plan.least_drop,
    ):
        faults.append(f"{one.success:.1%} good, the serving lane {other.success:.1%}")
    everyone, others = one.samples + one.refused, other.samples + other.refused
    if clearly_more(one.refused, everyone, other.refused, others, plan.least_drop):
        faults.append(
            f"{one.refused} of {everyone} refused with 4xx, the serving lane {other.refused}"
            f" of {others}"
        )
    return faults


def _latency_faults(one: Figures, other: Figures, plan: AnalysisPlan) -> list[str]:
    faults = []
    for what, got, base, limit in (
        ("first content", one.p95_first_ms, other.p95_first_ms, plan.first_ms),
        ("whole reply", one.p95_total_ms, other.p95_total_ms, plan.total_ms),
    ):
        relative = base * plan.factor + plan.floor_ms
        if got > limit:
            faults.append(f"P95 to the {what} {got:.0f} ms > {limit:.0f} ms")
        elif other.good >= plan.min_samples and got > relative:
            faults.append(
                f"P95 to the {what} {got:.0f} ms, the serving lane {base:.0f} ms"
                f" (at most {relative:.0f} ms)"
            )
    return faults


def clearly_more(
    bad: float, n: int, other_bad: float, other_n: int, least: float, beyond: float = CLEARLY
) -> bool:
    """Is bad/n higher than other_bad/other_n by `least` and beyond chance (pooled one-sided z
    test, `beyond` standard deviations)?"""
    if not n or not other_n:
        return False
    drop = bad / n - other_bad / other_n
    pooled = (bad + other_bad) / (n + other_n)
    deviation = math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / other_n))
    return drop >= least and deviation > 0 and drop / deviation > beyond
