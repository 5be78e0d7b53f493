"""What the Services must look like: derived from the journal, never stored."""

from __future__ import annotations

from dataclasses import dataclass

from rollout.names import Names
from rollout.slots import WEIGHTS, chosen
from rollout.state import State


@dataclass(frozen=True, slots=True)
class Wanted:
    """`roles`: Service to the lane it selects. `slots`: slot to the role Service it names."""

    stable: str
    roles: dict[str, str]
    slots: dict[str, str]
    release: int
    previous_lane: str
    """The lane that an undo without a journal goes to; empty if there is none."""


def wanted(state: State, names: Names) -> Wanted:
    """The Services for this state.

    A candidate's client Service selects the candidate lane only while
    0 < split < 100; at 0 and at 100 every slot names stable.
    """
    serving, candidate = state.serving, state.candidate
    roles = {names.stable: serving.lane}
    roles |= {names.candidate(number): serving.lane for number in state.services}
    slots = {f"{names.slot_prefix}{slot}": names.stable for slot in range(len(WEIGHTS))}
    if candidate is not None and 0 < candidate.split < 100:
        client = names.candidate(candidate.number)
        roles[client] = candidate.lane
        slots |= {f"{names.slot_prefix}{slot}": client for slot in chosen(candidate.split)}
    previous = state.previous.lane if state.previous and state.undo_until else ""
    return Wanted(names.stable, roles, slots, serving.number, previous)
