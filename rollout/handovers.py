"""How a state follows in which another lane serves, without a candidate's road. Pure."""

from __future__ import annotations

from dataclasses import replace

from rollout import transitions
from rollout.state import Ended, Held, Restore, Serving, State, hold_commit


def swapped(state: State, now: float) -> State:
    """The retained release serves again, and the serving one stands by for an undo."""
    back = state.retained
    if back is None:
        return state
    return replace(
        state,
        serving=replace(back, since=now),
        previous=state.serving,
        retained=state.serving,
        held={commit: one for commit, one in state.held.items() if commit != back.commit},
        ended=(*state.ended, Ended(back.number, "promoted", "promoted again by hand", now)),
        undo_until=now + state.times.undo_window_s,
        retire_at=now + max(state.times.undo_window_s, state.times.drain_s),
        said=f"release {back.number} serves on {back.lane} again",
    )


def given_back(state: State, to: Serving, why: str, now: float) -> State:
    """The serving release is undone and `to` serves; a second undo has nothing to undo."""
    old = state.serving
    return replace(
        state,
        serving=replace(to, since=now),
        previous=None,
        retained=old if old.lane != to.lane else None,
        restore=None,
        held=hold_commit(state.held, old.commit, Held("undone", why, now, to.commit)),
        ended=(*state.ended, Ended(old.number, "undone", why, now)),
        undo_until=None,
        retire_at=now + max(state.times.undo_window_s, state.times.drain_s),
        said=f"release {old.number} undone: release {to.number} serves on {to.lane}",
    )


def restoring(state: State, restore: Restore, now: float) -> State:
    """An older release is to serve again and must be started first; a candidate gives way."""
    state = transitions.ended(state, "aborted", f"undo to release {restore.number}", now)
    said = f"starting release {restore.number} on {restore.lane}"
    return replace(
        state, restore=restore, retained=None, undo_until=None, retire_at=None, said=said
    )


def adopted(state: State, lane: str, release: int | None, epoch: int, now: float) -> State:
    """The Services were moved without the journal: follow them."""
    why = "undone while the journal could not be read"
    state = transitions.ended(replace(state, epoch=epoch), "undone", why, now)
    if lane == state.serving.lane:
        return state
    if state.previous is not None and state.previous.lane == lane:
        return given_back(state, state.previous, why, now)
    number = release if release is not None else state.serving.number
    return given_back(state, Serving(number, lane, None, now), why, now)
