"""The road to 100 %: which steps, how long each, and how many samples each needs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from rollout.state import Times

# A share of lookups brings fewer requests than that share of all requests (clients
# that pool or never look up again stay where they are), and a draw varies.
MARGIN = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """An environment's plan. Times in seconds, steps in percent, rates in requests a second."""

    environment: str = "local"
    steps: tuple[int, ...] = (1, 5, 20, 50)
    soak_s: float = 10.0
    """The shortest time at a step, however good it looks."""
    step_max_s: float = 120.0
    """The longest time at a step without a verdict; then a person decides."""
    min_samples: int = 30
    start_max_s: float = 300.0
    """The longest time until a lane's pods are Ready."""
    times: Times = field(default_factory=Times)


def merged(plan: Plan, rate: float) -> tuple[int, ...]:
    """The steps that can finish in time at `rate` requests a second (of both lanes together).

    A step whose share would not bring `MARGIN` times `min_samples` within
    `step_max_s` is merged into the next. The last step stays even so: it then holds for a
    person, since too few samples are never a pass.
    """
    able = [step for step in plan.steps if MARGIN * fill_s(plan, step, rate) <= plan.step_max_s]
    return tuple(able) or plan.steps[-1:]


def fill_s(plan: Plan, step: int, rate: float) -> float:
    """Seconds until `min_samples` requests of the candidate have been answered."""
    share = rate * step / 100
    return plan.min_samples / share if share > 0 else math.inf


def step_s(plan: Plan, step: int, rate: float) -> float:
    """Seconds that a step is expected to take."""
    return max(plan.soak_s, min(fill_s(plan, step, rate), plan.step_max_s))


def replicas_for(prod: int, canary: int, percent: int) -> int:
    """Replicas that a part of full size `prod` needs for `percent` of the traffic."""
    return max(canary, math.ceil(prod * percent / 100))


def share_is_too_large(percent: int, candidate: int, stable: int) -> bool:
    """Whether the candidate clearly gets more than twice the share that was asked for.

    Three standard deviations above twice the share: a handful of early
    requests is no proof.
    """
    limit = 2 * percent / 100 * (candidate + stable)
    return candidate > limit + 3 * math.sqrt(limit) and limit > 0
