"""Releases that stand by: what a promotion or a split by hand, or an undo by number, must know."""

from __future__ import annotations

from dataclasses import replace

from rollout import lanes, records
from rollout.cluster import Api
from rollout.edit import Known
from rollout.errors import RolloutError
from rollout.names import Names
from rollout.retention import KEPT
from rollout.state import State


class UnknownRelease(RolloutError):
    """There is no record of that number, or none any more."""


def retained(api: Api, names: Names, state: State) -> Known | None:
    """The retained release, with whether its lane is up with it."""
    return by_number(api, names, state.retained.number) if state.retained else None


def by_number(api: Api, names: Names, number: int, pruned: tuple[int, ...] = ()) -> Known:
    """A release from its record, with the lane that runs it now. Raises UnknownRelease.

    `pruned`: what the journal says of it; such a record may be there for a moment yet.
    """
    record = None if number in pruned else records.read(api, names, number)
    if record is None and number <= max(pruned, default=0):
        raise UnknownRelease(
            f"there is no record of release {number} any more: {KEPT}; `rollout history` lists them"
        )
    if record is None:
        raise UnknownRelease(f"there is no release {number}: `rollout history` lists them")
    found = lanes.observe(api, names)
    running = (
        name for name, lane in found.items() if lane.release == number and lane.runs(names.app)
    )
    name = next(running, None)
    known = record.known(name)
    return replace(known, restarts=found[name].restarts) if name else known
