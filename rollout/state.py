"""The journal: all that the controller must know to continue after a crash."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from rollout.candidate import Candidate, Size
from rollout.errors import line

MAX_HELD = 1000
"""With so many held commits no push is taken up: none is forgotten but by a person's word.

A ConfigMap holds 1 MiB; this many, and what an undo or two add, take 0.9 MiB at the most.
"""
REFUSED = "refused"
"""The verdict of a commit that did not pass its examination."""
KEPT_REFUSED = 50
"""Reasons kept for who asks; they hold nothing, so the oldest may go."""
MAX_WHY = 600
"""Bytes of the reason of one."""


@dataclass(frozen=True, slots=True)
class Serving:
    """A release on a lane. `commit` is None for what an admin applied by hand."""

    number: int
    lane: str
    commit: str | None
    since: float


@dataclass(frozen=True, slots=True)
class Push:
    """A commit that waits for its turn. `by` says who asked: hook, poll, or a person.

    `commit` may still be a name (a branch, a short sha): it starts once the
    controller has resolved it.
    """

    commit: str
    at: float
    by: str
    branch: str = ""
    """Where the commit is found; empty for the branch in the settings."""
    give_up_undo: bool = False

    @property
    def resolved(self) -> bool:
        """Whether `commit` is a full sha."""
        return len(self.commit) == 40 and set(self.commit) <= set("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class Restore:
    """An undo to an older release that must first be started on the idle lane."""

    number: int
    lane: str
    commit: str | None
    sizes: dict[str, Size]
    since: float


@dataclass(frozen=True, slots=True)
class Held:
    """Why a commit may not be released again without a person's word."""

    verdict: str
    why: str
    at: float
    base: str | None = None
    """The commit that served then: what came with the held one is what differs."""

    @property
    def binds(self) -> bool:
        """Whether also a commit on top of it is held.

        One that was refused unseen by any pod is mended on top: the whole range
        from the serving release is examined again then, and nobody trusts a verdict.
        """
        return self.verdict != REFUSED


@dataclass(frozen=True, slots=True)
class Ended:
    """A verdict that is not yet written into its release's record."""

    number: int
    verdict: str
    why: str
    at: float


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds that an undo from a terminal needs to know without reading the settings.

    `drain_s`: from a lane's last share to its scaling down (gateways close
    idle connections in 10 s and answer `Connection: close` for 30 s after a
    drain request). `prune_s`: how long a client Service outlives its split.
    """

    undo_window_s: float = 600.0
    drain_s: float = 40.0
    prune_s: float = 86400.0


@dataclass(frozen=True, slots=True)
class State:
    """One consistent picture. Objects in the cluster are derived from it (`wanted`)."""

    epoch: int
    serving: Serving
    next_number: int
    previous: Serving | None = None
    """Where a plain undo goes; its lane stands by while `undo_until` lies ahead."""
    retained: Serving | None = None
    """A release that was promoted once and stands by on the idle lane until `retire_at`."""
    candidate: Candidate | None = None
    restore: Restore | None = None
    queue: Push | None = None
    undo_until: float | None = None
    retire_at: float | None = None
    services: dict[int, float | None] = field(default_factory=dict)
    """Client Services of releases, with the time at which each may be pruned."""
    held: dict[str, Held] = field(default_factory=dict)
    ended: tuple[Ended, ...] = ()
    seen: str | None = None
    """The last tip of the branch that was taken up, so that a poll takes it up only once."""
    pruned: tuple[int, ...] = ()
    """The releases whose records were deleted last, or are about to be: no undo goes to them."""
    said: str = ""
    """The last thing that happened, for people."""
    times: Times = field(default_factory=Times)

    def in_undo_window(self, now: float) -> bool:
        """Whether the previous release still stands by at full size."""
        return self.previous is not None and self.undo_until is not None and now < self.undo_until


def hold_commit(held: dict[str, Held], commit: str | None, reason: Held) -> dict[str, Held]:
    """`held` with one more commit, the newest last."""
    if commit is None:
        return held
    others = {key: value for key, value in held.items() if key != commit}
    refused = [key for key, value in others.items() if not value.binds]
    for old in refused[: max(0, len(refused) + 1 - KEPT_REFUSED)]:
        del others[old]
    return {**others, commit: replace(reason, why=line(reason.why, MAX_WHY))}
