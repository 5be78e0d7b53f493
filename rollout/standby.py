"""Lanes that serve, stand by or rest: an older release back, pods back, pods away. Pure."""

from __future__ import annotations

from dataclasses import replace

from rollout import handovers
from rollout.actions import Action, Advance, Apply, Refill, Scale, Shift, Wait
from rollout.names import Names, other_lane
from rollout.observation import Observation
from rollout.shortfall import at_zero, needed
from rollout.state import Serving, State


def restore(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """An undo to an older release: start it on the idle lane, then move everything."""
    wish = state.restore
    if wish is None:
        return None
    lane = seen.lane(wish.lane)
    if lane.release != wish.number:
        return Apply(state, f"starting release {wish.number} again", wish.number, wish.lane)
    sizes = {part: size.prod for part, size in wish.sizes.items()}
    if lane.below(sizes):
        return Scale(state, f"release {wish.number} at full size", wish.lane, sizes)
    if not lane.settled:
        return Wait(state, f"waiting for release {wish.number} on {wish.lane}: {lane.trouble}")
    back = Serving(wish.number, wish.lane, wish.commit, now)
    after = handovers.given_back(state, back, f"undo to {wish.number}", now)
    return Shift(after, after.said, settle=False, drain=state.serving.lane)


def refill(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """A lane that serves or stands by has pods: what somebody scaled to 0 comes back."""
    for release in needed(state, now):
        lane = seen.lane(release.lane)
        ours = release == state.serving or lane.release == release.number
        if ours and at_zero(lane):
            why = f"lane {release.lane} is needed: {', '.join(at_zero(lane))} back from 0 replicas"
            return Refill(state, why, release.number, release.lane)
    return None


def retire(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """The idle lane goes to 0 when nobody needs it: after the undo window, or once drained."""
    if state.candidate is not None or state.restore is not None or state.retire_at is None:
        return None
    if now < state.retire_at:
        return None
    if state.undo_until is not None:
        return Advance(replace(state, undo_until=None), "the undo window is over")
    if state.retained is not None:
        return Advance(replace(state, retained=None), "the retained release is let go")
    lane = other_lane(state.serving.lane)
    if seen.lane(lane).size:
        sizes = dict.fromkeys(seen.lane(lane).parts, 0)
        return Scale(state, f"nobody needs lane {lane} any more: to 0", lane, sizes)
    return Advance(replace(state, retire_at=None), f"lane {lane} is at rest")
