"""`undo` and `abort` from a terminal: raise the epoch, then move the traffic, with no controller.

This is the path that must work when everything else is broken, so it imports
only what it needs and does its reads and its patches at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from rollout import journal, lanes, sequences
from rollout.cluster import Api
from rollout.codec import BadJournal
from rollout.drain import drain
from rollout.edit import Edit
from rollout.errors import Conflict, RolloutError, Superseded
from rollout.names import Names, other_lane
from rollout.order import Order, lane_down, without_journal
from rollout.seen import Seen, reads
from rollout.state import State
from rollout.wanted import wanted

ATTEMPTS = 5
MOVES = 20
"""A controller that writes at the same time may be first at one object after another."""
Command = Callable[[State, float, Seen], Edit]


class NeedsJournal(RolloutError):
    """The command says more than the Services can tell."""


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
        """Note that something is so now; nothing if it is empty."""
        if what:
            self.steps.append((what, time.monotonic() - self.began))


def turn_back(
    api: Api,
    names: Names,
    command: Command,
    began: float,
    *,
    plain: bool = True,
    force: bool = False,
) -> Report:
    """Carry out an undo or abort. Raises NeedsJournal, LaneDown, and what the API server refuses.

    `plain`: an undo to where the Services lead back to, should the journal be unreadable.
    `force`: also to a lane without a Ready pod.
    """
    report = Report(began)
    seen, order = _decide(api, names, command, plain, force, report)
    for left in reversed(range(MOVES)):
        if order is None or report.restoring:
            return report
        try:
            _move(api, names, seen, order, report)
            break
        except Superseded:
            # Somebody wrote since the look, such as a controller that follows the journal.
            if not left:
                raise
            seen, order = _again(api, names, order, report)
    if order is not None:
        _drain(api, names, seen, order.lane, report)
    return report


def _decide(
    api: Api, names: Names, command: Command, plain: bool, force: bool, report: Report
) -> tuple[Seen, Order | None]:
    """Write the journal, if it can be read; what to do now (None: nothing)."""
    for attempt in range(ATTEMPTS):
        state, version, seen = _read(api, names)
        if state is None:
            if not plain:
                raise NeedsJournal(f"{version}; only a plain `rollout undo` does without it")
            return seen, _by_services(names, seen, force, report)
        edit = command(state, time.time(), seen)
        report.said, report.wrong = edit.said, edit.wrong
        report.restoring = edit.moves and (edit.state or state).restore is not None
        if edit.state is None:
            return seen, None
        # An object may be newer than the journal, after an undo that could not read it.
        epoch = max(edit.state.epoch, seen.newest(names) + 1)
        after = replace(edit.state, epoch=epoch)
        order = Order(wanted(after, names), epoch, journaled=True)
        report.step(lane_down(names, seen, order.lane, force))
        try:
            journal.write(api, names, after, version)
        except Conflict:
            if attempt == ATTEMPTS - 1:
                raise
            continue
        report.step(f"journal: epoch {state.epoch} to {epoch}")
        return seen, order
    raise AssertionError("the last attempt returns or raises")


def _by_services(names: Names, seen: Seen, force: bool, report: Report) -> Order | None:
    report.step("the journal cannot be read: going by the Services")
    order = without_journal(names, seen)
    if order is None:
        report.said = "nothing to undo: no split is open and no previous lane stands by"
        return None
    report.step(lane_down(names, seen, order.lane, force))
    report.said = f"everything goes to lane {order.lane}; `rollout init` makes a new journal"
    return order


def _again(api: Api, names: Names, order: Order, report: Report) -> tuple[Seen, Order | None]:
    """Look again. The same order, or None if somebody has finished it or gone on from it."""
    seen = Seen(*api.together(reads(api, names)))
    # After the look: what is written then follows a journal that is not older than it.
    state, _ = _journal(api, names)
    now: Order | None
    if order.journaled and state is not None and seen.newest(names) <= state.epoch:
        now = Order(wanted(state, names), state.epoch, journaled=True)
    else:
        now = without_journal(names, seen)
    if now is not None and now.moves_as(order):
        return seen, now
    report.moved = True
    if order.journaled or (now is None and seen.lanes_in_use(names) == {order.lane}):
        report.step("another process has done the rest")
    else:
        report.said = "somebody else moves the traffic: see `rollout status`, then repeat"
        report.wrong = True
    return seen, None


def _read(api: Api, names: Names) -> tuple[State | None, str, Seen]:
    """Everything at once: the journal and its version, or None and why it cannot be read."""
    (state, version), *looked = api.together([partial(_journal, api, names), *reads(api, names)])
    return state, version, Seen(*looked)


def _journal(api: Api, names: Names) -> tuple[State | None, str]:
    try:
        return journal.read(api, names)
    except (RolloutError, BadJournal) as error:
        # Also a 5xx: one object that cannot be decoded. If it is the API server, the look fails.
        return None, str(error)


def _move(api: Api, names: Names, seen: Seen, order: Order, report: Report) -> None:
    """Selectors (and, at once, the fence around the winner's Deployments), then slots."""
    fence = lanes.fence_calls(names.lanes, api, seen.of_lane(order.lane), order.epoch)
    moved = sequences.shift(
        api, names, seen.services, order.target, order.epoch, settle=False, beside=fence
    )
    report.moved = True
    began = report.began
    report.steps.append((f"{moved.roles} selectors: all to {order.lane}", moved.roles_at - began))
    report.steps.append((f"{moved.slots} slots: all to {names.stable}", moved.slots_at - began))


def _drain(api: Api, names: Names, seen: Seen, winner: str, report: Report) -> None:
    loser = other_lane(winner)
    if seen.lane(loser).answers(names.app):
        asked = drain(api, names, loser, direct=False)
        report.step(f"{asked} gateways of {loser} asked to close their connections")
