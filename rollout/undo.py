"""`undo` and `abort` from a terminal: raise the epoch, then move the traffic, with no controller.

This is the path that must work when everything else is broken, so it imports
only what it needs and does its reads and its patches at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from rollout import journal, lanes, sequences
from rollout.cluster import Api, Object, apps
from rollout.codec import BadJournal
from rollout.commands import Edit, Known
from rollout.drain import drain
from rollout.errors import ApiError, Conflict, RolloutError, Superseded
from rollout.lane_view import view
from rollout.names import LANES, Names, other_lane
from rollout.observation import Lane
from rollout.services import Services, read_roles, read_slots
from rollout.state import Serving, State
from rollout.wanted import Wanted, wanted

ATTEMPTS = 5
Command = Callable[[State, float, "Seen"], Edit]


@dataclass(frozen=True, slots=True)
class Seen:
    """Services and Deployments, read together with the journal."""

    services: Services
    deployments: list[Object]

    def lane(self, name: str) -> Lane:
        """One lane, without its pods."""
        return view(name, self.deployments, [])

    def of_lane(self, name: str) -> list[Object]:
        """The lane's Deployments as the API server gave them."""
        return [one for one in self.deployments if one["metadata"]["labels"].get("lane") == name]


@dataclass
class Report:
    """What was done. `steps`: what, and seconds since the command began."""

    began: float
    said: str = ""
    moved: bool = False
    wrong: bool = False
    restoring: bool = False
    """Traffic has not moved yet: the release's pods must start first."""
    steps: list[tuple[str, float]] = field(default_factory=list)

    def step(self, what: str) -> None:
        """Note that something is done now."""
        self.steps.append((what, time.monotonic() - self.began))


def turn_back(api: Api, names: Names, command: Command, began: float) -> Report:
    """Carry out an undo or abort. Raises RolloutError if the API server refuses."""
    report = Report(began)
    seen, target, epoch = _decide(api, names, command, report)
    if target is None or report.restoring:
        return report
    for attempt in range(ATTEMPTS):
        try:
            _move(api, names, seen, target, epoch, report)
            break
        except Superseded:
            # A live controller follows the journal at the same time: look what is left to do.
            if attempt == ATTEMPTS - 1:
                raise
            seen = _read(api, names)[2]
    _drain(api, names, seen, target, report)
    return report


def _decide(
    api: Api, names: Names, command: Command, report: Report
) -> tuple[Seen, Wanted | None, int]:
    """Write the journal; what the Services must become (None: nothing) and the new epoch."""
    for attempt in range(ATTEMPTS):
        state, version, seen = _read(api, names)
        if state is None:
            report.step("the journal cannot be read: going by the Services")
            target = without_journal(names, seen)
            report.said = (
                f"everything goes to lane {target.roles[names.stable]}; "
                "`rollout init` makes a new journal"
                if target
                else "nothing to undo: no split is open and no previous lane stands by"
            )
            return seen, target, _newest(names, seen) + 1
        edit = command(state, time.time(), seen)
        report.said, report.wrong = edit.said, edit.wrong
        report.restoring = edit.moves and (edit.state or state).restore is not None
        if edit.state is None:
            return seen, None, 0
        # An object may be newer than the journal, after an undo that could not read it.
        epoch = max(edit.state.epoch, _newest(names, seen) + 1)
        after = replace(edit.state, epoch=epoch)
        try:
            journal.write(api, names, after, version)
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        report.step(f"journal: epoch {state.epoch} to {epoch}")
        return seen, wanted(after, names), epoch
    raise AssertionError("the last attempt returns or raises")


def previous_release(names: Names, state: State, seen: Seen) -> Known | None:
    """The release that a plain undo goes to, if its lane is up with it."""
    back = state.previous
    return None if back is None else known(names, seen, back)


def known(names: Names, seen: Seen, release: Serving) -> Known:
    """A once promoted release, from its lane's Deployments."""
    lane = seen.lane(release.lane)
    runs = lane.release == release.number and lane.runs(names.app)
    return Known(release.number, release.commit, {}, True, release.lane, runs)


def _read(api: Api, names: Names) -> tuple[State | None, str, Seen]:
    """Everything at once; no state if the journal cannot be read."""
    reads: list[Any] = [
        partial(_journal, api, names),
        partial(read_roles, api, names),
        partial(read_slots, api, names),
        partial(api.items, apps(names.lanes), f"lane in ({','.join(LANES)})"),
    ]
    (state, version), roles, slots, deployments = api.together(reads)
    return state, version, Seen(Services(roles, slots), deployments)


def _journal(api: Api, names: Names) -> tuple[State | None, str]:
    try:
        return journal.read(api, names)
    except (journal.NoJournal, BadJournal, ApiError):
        return None, ""


def without_journal(names: Names, seen: Seen) -> Wanted | None:
    """Everything to stable's lane if a split is open, else to the previous lane if it answers."""
    roles, slots = seen.services.view(names)
    if names.stable not in roles:
        raise RolloutError(
            f"Service {names.stable} is missing in {names.lanes}: an admin runs `rollout init`"
        )
    stable = roles[names.stable]
    split = any(slot.service != names.stable for slot in slots.values())
    lane = stable.lane if split else stable.previous_lane
    if not lane or not (split or seen.lane(lane).answers(names.app)):
        return None
    release = seen.lane(lane).release or stable.release or 0
    return Wanted(
        names.stable, dict.fromkeys(roles, lane), dict.fromkeys(slots, names.stable), release, ""
    )


def _move(api: Api, names: Names, seen: Seen, target: Wanted, epoch: int, report: Report) -> None:
    """Selectors (and, at once, the fence around the winner's Deployments), then slots."""
    winner = target.roles[names.stable]
    fence = lanes.fence_calls(names.lanes, api, seen.of_lane(winner), epoch)
    moved = sequences.shift(api, names, seen.services, target, epoch, settle=False, beside=fence)
    report.moved = True
    began = report.began
    report.steps.append((f"{moved.roles} selectors: all to {winner}", moved.roles_at - began))
    report.steps.append((f"{moved.slots} slots: all to {names.stable}", moved.slots_at - began))


def _drain(api: Api, names: Names, seen: Seen, target: Wanted, report: Report) -> None:
    loser = other_lane(target.roles[names.stable])
    if seen.lane(loser).answers(names.app):
        asked = drain(api, names, loser, direct=False)
        report.step(f"{asked} gateways of {loser} asked to close their connections")


def _newest(names: Names, seen: Seen) -> int:
    roles, slots = seen.services.view(names)
    epochs = [role.epoch for role in roles.values()] + [slot.epoch for slot in slots.values()]
    epochs += [part.epoch for lane in LANES for part in seen.lane(lane).parts.values()]
    return max(epochs, default=0)
