"""Drive the controller's own rules from a terminal until an undo that needs pods is done."""

from __future__ import annotations

import time
from collections.abc import Callable

from rollout import actions, journal, watcher
from rollout.cluster import Api
from rollout.decide import decide
from rollout.errors import ApiUnavailable, Conflict, RolloutError, Superseded
from rollout.mover import Mover
from rollout.names import Names
from rollout.plan import Plan
from rollout.state import State

POLL_S = 0.2


class StillStarting(RolloutError):
    """The release's pods did not become Ready in time."""


def drive(api: Api, names: Names, timeout_s: float, say: Callable[[str], None]) -> str:
    """Start the release and move to it; the last line. Works beside a live controller too."""
    mover = Mover(api, names)
    deadline = time.monotonic() + timeout_s
    last = ""
    while time.monotonic() < deadline:
        try:
            state, version = journal.read(api, names)
            seen, services = watcher.look(
                api, names, Plan(times=state.times), recorded=mover.recorded
            )
            action = decide(state, seen, time.time(), names)
            if state.restore is None and not _moves(state, action):
                return state.said
            journal.commit(api, names, state, action.after, version)
            mover.perform(action, services)
        except (Conflict, Superseded, ApiUnavailable):
            continue
        if action.why != last:
            say(action.why)
            last = action.why
        if isinstance(action, actions.Wait):
            time.sleep(POLL_S)
    raise StillStarting(
        f"not Ready after {timeout_s:.0f} s: {last}; the traffic has not moved; "
        "`rollout status` shows the pods, `rollout abort` gives this undo up"
    )


def _moves(state: State, action: actions.Action) -> bool:
    """Whether the Services do not follow the journal yet: another process may have written it."""
    return isinstance(action, actions.Shift) and action.after == state
