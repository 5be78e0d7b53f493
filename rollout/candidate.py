"""The release under examination: how far it is, and what it waits for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any


class Phase(StrEnum):
    """How far a candidate is. Before STEPS it has never had a share."""

    VERIFY = "verify"
    START = "start"
    SCENARIOS = "scenarios"
    STEPS = "steps"
    SCALE = "scale"

    @property
    def examined(self) -> bool:
        """Whether the scenarios have passed: from here on a newer push waits."""
        return self in (Phase.STEPS, Phase.SCALE)


class HoldKind(StrEnum):
    """Why a candidate waits for a person."""

    CONTAINS = "contains a rejected commit"
    INCONCLUSIVE = "inconclusive"
    SHARE = "share"


@dataclass(frozen=True, slots=True)
class Hold:
    kind: HoldKind
    why: str
    since: float


@dataclass(frozen=True, slots=True)
class Size:
    """Replicas of one Deployment of a lane, as a canary and at full size."""

    canary: int
    prod: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """The release under examination. Times are unix seconds, `split` is in percent.

    `commit` is empty for a release that an admin applied, given a share again.
    """

    number: int
    commit: str
    lane: str
    pushed_at: float
    phase: Phase
    since: float
    branch: str = ""
    sizes: dict[str, Size] = field(default_factory=dict)
    rehearsed: bool = False
    steps: tuple[int, ...] = ()
    step: int = 0
    manual: int | None = None
    """A share that a person asked for; the plan waits until they resume it."""
    split: int = 0
    step_since: float | None = None
    restarts: int = 0
    hold: Hold | None = None
    approved: bool = False
    revived: bool = False
    """A retained release that a person gives a share again; it was promoted before."""
    passed: tuple[str, ...] = ()
    """One line for each step that passed."""

    @property
    def target(self) -> int | None:
        """The share that comes next or is open, in percent; None when every step passed."""
        if self.manual is not None:
            return self.manual
        return self.steps[self.step] if self.step < len(self.steps) else None


def advance(candidate: Candidate, phase: Phase, now: float, **changes: Any) -> Candidate:
    """The candidate in its next phase."""
    return replace(candidate, phase=phase, since=now, **changes)
