"""What the controller can do. Each is idempotent; `after` is journaled before it is done."""

from __future__ import annotations

from dataclasses import dataclass

from rollout.state import Ended, State


@dataclass(frozen=True, slots=True)
class Action:
    """`after` is the journal to write first; `why` is one line for people."""

    after: State
    why: str


@dataclass(frozen=True, slots=True)
class Wait(Action):
    """Nothing to do until something changes."""


@dataclass(frozen=True, slots=True)
class Advance(Action):
    """Only the journal changes."""


@dataclass(frozen=True, slots=True)
class Examine(Action):
    """Start the job: verify, render, lint, digests, record."""

    number: int


@dataclass(frozen=True, slots=True)
class Apply(Action):
    """Apply a release's recorded manifests to a lane without a share."""

    number: int
    lane: str


@dataclass(frozen=True, slots=True)
class Rehearse(Action):
    """Start the job: the release in staging, its scenarios once, staging back to 0."""

    number: int


@dataclass(frozen=True, slots=True)
class EndRehearsal(Action):
    """Scale staging to 0."""


@dataclass(frozen=True, slots=True)
class RunScenarios(Action):
    """Start the job: business scenarios against the candidate's lane."""

    number: int
    lane: str


@dataclass(frozen=True, slots=True)
class Scale(Action):
    """Set the replicas of a lane's parts."""

    lane: str
    replicas: dict[str, int]


@dataclass(frozen=True, slots=True)
class Refill(Action):
    """Scale the parts of a lane that stand at 0 to the full size of its release."""

    number: int
    lane: str


@dataclass(frozen=True, slots=True)
class Shift(Action):
    """Make roles and slots what `after` wants: selectors first, then slots.

    `settle`: wait until the EndpointSlices follow the selectors before the
    slots move. `drain`: the lane whose gateways are asked to close connections.
    """

    settle: bool
    drain: str | None = None


@dataclass(frozen=True, slots=True)
class Record(Action):
    """Write a verdict into its release's record."""

    ended: Ended


@dataclass(frozen=True, slots=True)
class Prune(Action):
    """Delete client Services that no journal line names any more."""

    services: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forget(Action):
    """Delete the records of releases that the journal says are pruned."""

    numbers: tuple[int, ...]
