"""The admin's ConfigMap `rollout-settings`: where releases come from, and the plan."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rollout._yaml_reader import BadDocument, Value, read
from rollout.analysis import AnalysisPlan
from rollout.discards import DiscardPlan
from rollout.errors import RolloutError
from rollout.pattern import BadPattern, Pattern
from rollout.plan import Plan
from rollout.scenario import Limits
from rollout.state import Times
from rollout.trust import TICKET

_DAY = 86400.0
_PLAN_TIMES = ("soak_s", "step_max_s", "start_max_s")
_TIMES = ("undo_window_s", "drain_s", "prune_s")
_LIMITS = ("success", "first_ms", "total_ms", "factor", "floor_ms")
_SCENARIO_LIMITS = ("success", "first_ms", "total_ms")


# A rehearsal asks whether the answers are right; how fast they are is asked on the lane itself.
REHEARSAL = Limits(success=1.0, first_ms=30_000, total_ms=60_000)


class BadSettings(RolloutError):
    """Settings that cannot be used; one line with the place and the remedy."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What the admin decided. `scenario_limits` widen each scenario's own (None: as written)."""

    git_url: str = ""
    branch: str = "main"
    plan: Plan = field(default_factory=Plan)
    analysis: AnalysisPlan = field(default_factory=AnalysisPlan)
    discards: DiscardPlan = field(default_factory=DiscardPlan)
    scenario_limits: Limits | None = None
    rehearsal_runs: int = 2
    rehearsal_limits: Limits = REHEARSAL
    ticket: Pattern = TICKET


def parse(data: dict[str, str]) -> Settings:
    """Settings from the ConfigMap's data. Raises BadSettings."""
    try:
        root = read(data.get("plan.yaml", "steps: [1, 5, 20, 50]\n"))
        optional = (
            "environment",
            "min_samples",
            *_PLAN_TIMES,
            *_TIMES,
            "limits",
            "scenario_limits",
            "discards",
        )
        given = root.mapping(("steps",), (*optional, "rehearsal_runs", "ticket"))
        plan = _plan(given)
        return Settings(
            git_url=data.get("git_url", "").strip(),
            branch=data.get("branch", "main").strip() or "main",
            plan=plan,
            analysis=AnalysisPlan(
                min_samples=plan.min_samples, **_limits(given, "limits", _LIMITS)
            ),
            discards=_discards(given),
            scenario_limits=_scenario_limits(given),
            rehearsal_runs=_integer(given, "rehearsal_runs", 2, 1, 1000),
            ticket=_ticket(given),
        )
    except BadDocument as error:
        raise BadSettings(
            f"ConfigMap rollout-settings, plan.yaml: {error}: an admin edits it"
        ) from None


def _plan(given: dict[str, Value]) -> Plan:
    steps = tuple(item.integer(1, 99) for item in given["steps"].sequence(1, 20))
    if list(steps) != sorted(set(steps)):
        raise given["steps"].bad("steps must rise; the last one, 100 %, is the promotion")
    environment = given["environment"].text(40) if "environment" in given else "local"
    least = _integer(given, "min_samples", 30, 1, 1_000_000)
    return Plan(
        environment=environment,
        steps=steps,
        min_samples=least,
        times=Times(**_seconds(given, _TIMES)),
        **_seconds(given, _PLAN_TIMES),
    )


def _seconds(given: dict[str, Value], wanted: tuple[str, ...]) -> dict[str, Any]:
    return {name: given[name].number(0, 30 * _DAY) for name in wanted if name in given}


def _limits(given: dict[str, Value], name: str, allowed: tuple[str, ...]) -> dict[str, float]:
    if name not in given:
        return {}
    values = given[name].mapping((), allowed)
    return {key: value.number(0, 1_000_000) for key, value in values.items()}


def _discards(given: dict[str, Value]) -> DiscardPlan:
    if "discards" not in given:
        return DiscardPlan()
    values = given["discards"].mapping((), ("share", "seconds", "counts"))
    chosen: dict[str, Any] = {}
    if "share" in values:
        chosen["share"] = values["share"].number(0, 1)
    if "seconds" in values:
        chosen["seconds"] = values["seconds"].number(0, 1_000_000)
    if "counts" in values:
        chosen["counts"] = values["counts"].boolean()
    return DiscardPlan(**chosen)


def _scenario_limits(given: dict[str, Value]) -> Limits | None:
    wide = _limits(given, "scenario_limits", _SCENARIO_LIMITS)
    return Limits(**wide) if wide else None


def _integer(given: dict[str, Value], name: str, default: int, least: int, most: int) -> int:
    return given[name].integer(least, most) if name in given else default


def _ticket(given: dict[str, Value]) -> Pattern:
    """The admin's own pattern; it is searched in the subjects of whoever pushes."""
    if "ticket" not in given:
        return TICKET
    try:
        return Pattern(given["ticket"].text(200))
    except BadPattern as error:
        raise given["ticket"].bad(str(error)) from None
