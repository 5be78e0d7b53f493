"""What each lane's answers cost that nobody read, as the tracing agents count it. Pure.

The tokens of one request are thrown away together, when its client leaves or a complaint stops
it: they are one event and not many. So each comparison counts answers, not tokens, and the
finding is at least as sure as it says.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass
from typing import Any

from rollout.analysis import clearly_more
from rollout.finding import Finding

# One-sided 0.1 %: up to ten scenarios and figures are looked at together, at every step.
SURELY = 3.09


@dataclass(frozen=True, slots=True)
class Discards:
    """Sums over the requests of one scenario on one lane, of which `answered` made tokens.
    `seconds` is what all replies took, `discarded_seconds` what the tokens took that were
    thrown away."""

    answered: int = 0
    generated: int = 0
    discarded: int = 0
    seconds: float = 0.0
    discarded_seconds: float = 0.0

    def __add__(self, other: Discards) -> Discards:
        return _each(operator.add, self, other)

    def __sub__(self, other: Discards) -> Discards:
        return _each(operator.sub, self, other)

    @property
    def grew(self) -> bool:
        """Whether, as a difference, nothing in it is less than before."""
        return all(value >= 0 for value in astuple(self))

    @property
    def share(self) -> float:
        """Which part of the tokens was thrown away, 0 to 1."""
        return min(self.discarded / self.generated, 1.0) if self.generated else 0.0

    @property
    def time_share(self) -> float:
        """Which part of the time went into them, 0 to 1."""
        return min(self.discarded_seconds / self.seconds, 1.0) if self.seconds else 0.0

    @property
    def each_s(self) -> float:
        """Seconds thrown away an answer."""
        return self.discarded_seconds / self.answered if self.answered else 0.0


Scenarios = Mapping[str, Discards]
"""The discards of one lane, by scenario."""


@dataclass(frozen=True)
class DiscardPlan:
    """How much more than the serving lane's is a finding: `share` of the tokens (0 to 1) or
    `seconds` an answer. With `counts` a finding fails the step; else it is only told."""

    share: float = 0.1
    seconds: float = 0.2
    counts: bool = False


def compare(one: Scenarios, other: Scenarios, plan: DiscardPlan, least: int) -> list[Finding]:
    """What the candidate's lane `one` throws away beyond chance and beyond the plan's bounds,
    in scenarios of which both lanes had `least` answers."""
    found: list[Finding] = []
    for scenario in sorted(one.keys() & other.keys()):
        mine, theirs = one[scenario], other[scenario]
        if min(mine.answered, theirs.answered) >= least:
            found += _findings(scenario, mine, theirs, plan)
    return found


def said(one: Scenarios, other: Scenarios) -> str:
    """Both lanes' figures in one line."""
    mine = sum(one.values(), Discards())
    theirs = sum(other.values(), Discards())
    return (
        f"{mine.share:.1%} of the tokens and {mine.each_s:.2f} s an answer"
        f" ({mine.answered} answers), the serving lane {theirs.share:.1%} and"
        f" {theirs.each_s:.2f} s ({theirs.answered})"
    )


def _findings(
    scenario: str, mine: Discards, theirs: Discards, plan: DiscardPlan
) -> Iterator[Finding]:
    where = f"scenario {scenario}"
    remedy = (
        "ask its requests who left and when (`python -m observability top`)"
        if plan.counts
        else "it is told and does not count; `discards: {counts: true}` in rollout-settings"
    )
    if _surely_more(mine.share, mine, theirs.share, theirs, plan.share):
        what = (
            f"{mine.share:.0%} of {mine.generated} tokens thrown away,"
            f" on the serving lane {theirs.share:.0%} of {theirs.generated}"
        )
        yield Finding("discarded-share", where, what, remedy)
    if mine.each_s - theirs.each_s >= plan.seconds and _surely_more(
        mine.time_share, mine, theirs.time_share, theirs, 0.0
    ):
        what = (
            f"{mine.each_s:.2f} s an answer went into tokens that were thrown away,"
            f" on the serving lane {theirs.each_s:.2f} s"
        )
        yield Finding("discarded-seconds", where, what, remedy)


def _surely_more(
    share: float, mine: Discards, other_share: float, theirs: Discards, least: float
) -> bool:
    n, other_n = mine.answered, theirs.answered
    return clearly_more(share * n, n, other_share * other_n, other_n, least, SURELY)


def _each(operation: Callable[[Any, Any], Any], one: Discards, other: Discards) -> Discards:
    return Discards(*map(operation, astuple(one), astuple(other)))
