"""Wait in a terminal for what was asked, with a line for each thing that happens."""

from __future__ import annotations

import time
from collections.abc import Callable

from rollout import journal, sequences
from rollout.cluster import Api
from rollout.errors import ApiUnavailable, RolloutError
from rollout.names import Names
from rollout.state import State
from rollout.wanted import wanted

POLL_S = 0.1


class TooLong(RolloutError):
    """It did not happen in the time that was given."""


def aligned(api: Api, names: Names, state: State) -> bool:
    """Whether the Services say what the journal says."""
    roles, slots = sequences.read(api, names).view(names)
    target = wanted(state, names)
    return all(
        name in roles and roles[name].lane == lane for name, lane in target.roles.items()
    ) and all(name in slots and slots[name].service == to for name, to in target.slots.items())


def until(
    api: Api,
    names: Names,
    done: Callable[[State], bool],
    timeout_s: float,
    say: Callable[[str], None],
) -> State:
    """Poll the journal until `done` and the Services follow it. Raises TooLong."""
    deadline, last = time.monotonic() + timeout_s, ""
    while time.monotonic() < deadline:
        try:
            state, _ = journal.read(api, names)
            if state.said != last:
                say(state.said)
                last = state.said
            if done(state) and aligned(api, names, state):
                return state
        except ApiUnavailable as error:
            if str(error) != last:
                say(str(error))
                last = str(error)
        time.sleep(POLL_S)
    raise TooLong(
        f"not after {timeout_s:.0f} s: {last or 'nothing happened'}; see `rollout status`"
    )
