"""Services and journal say the same: which of the two follows the other, and how. Pure."""

from __future__ import annotations

from dataclasses import replace

from rollout import handovers
from rollout.actions import Action, Advance, Shift
from rollout.names import Names, other_lane
from rollout.observation import Observation
from rollout.state import State
from rollout.wanted import Wanted, wanted


def followed(state: State, seen: Observation, now: float, names: Names) -> State:
    """The state, or what objects newer than the journal say: an undo could not read it."""
    if seen.epoch <= state.epoch or names.stable not in seen.roles:
        return state
    lane = _winner(seen, names)
    return handovers.adopted(state, lane, seen.lane(lane).release, seen.epoch, now)


def _winner(seen: Observation, names: Names) -> str:
    """The lane that the newest writer chose. It may be half done: only what it wrote counts.

    It stamps the winner's Deployments at the same time as it moves the roles.
    """
    stable = seen.roles[names.stable]
    roles = [role.lane for role in (stable, *seen.roles.values()) if role.epoch == seen.epoch]
    lanes = [
        name
        for name, lane in seen.lanes.items()
        if any(part.epoch == seen.epoch for part in lane.parts.values())
    ]
    return [*roles, *lanes, stable.lane][0]


def adopt(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """With an epoch of its own: what is left of the undo is then told from the controller's."""
    after = followed(state, seen, now, names)
    if after is state:
        return None
    after = replace(after, epoch=after.epoch + 1)
    return Advance(after, "Services newer than the journal: continuing from what they say")


def align(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """Roles and slots must say what the journal says, before anything else happens."""
    target = wanted(state, names)
    moved = not _same(target, seen)
    if not moved and _stamped(target, seen, state.epoch):
        return None
    candidate = state.candidate
    opening = candidate is not None and candidate.split > 0
    if candidate is not None and opening and not seen.lane(candidate.lane).answers(names.app):
        return None  # nobody is there to be waited for: the candidate's phase says what to do
    loser = other_lane(state.serving.lane) if moved and state.candidate is None else None
    return Shift(state, _describe(state), settle=opening, drain=loser)


def _same(target: Wanted, seen: Observation) -> bool:
    roles = {name: role.lane for name, role in seen.roles.items() if name in target.roles}
    slots = {name: slot.service for name, slot in seen.slots.items() if name in target.slots}
    return roles == target.roles and slots == target.slots


def _stamped(target: Wanted, seen: Observation, epoch: int) -> bool:
    """Whether every object carries the epoch, and the stable one what a bare undo needs."""
    stable = seen.roles[target.stable]
    if (stable.release, stable.previous_lane) != (target.release, target.previous_lane):
        return False
    epochs = [seen.roles[name].epoch for name in target.roles]
    epochs += [seen.slots[name].epoch for name in target.slots]
    return set(epochs) == {epoch}


def _describe(state: State) -> str:
    if state.candidate is not None and state.candidate.split:
        return f"release {state.candidate.number} gets {state.candidate.split} %"
    return f"release {state.serving.number} gets everything"
