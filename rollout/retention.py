"""How long the records of releases are kept: what an undo may go to and a verdict needs. Pure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from rollout.actions import Action, Advance, Forget
from rollout.names import Names
from rollout.observation import Observation, Shelved
from rollout.state import State

KEEP_S = 14 * 86400.0
KEEP_PROMOTED = 20
KEEP_OTHERS = 50
AT_ONCE = 5

KEPT = (
    f"kept are the last {KEEP_PROMOTED} promoted, all promoted within "
    f"{KEEP_S / 86400:.0f} days, and the last {KEEP_OTHERS} others"
)


def superfluous(shelf: Collection[Shelved], state: State, now: float) -> tuple[int, ...]:
    """The numbers of the releases whose records nobody needs any more, oldest first."""
    promoted = sorted(
        ((one.promoted_at, one.number) for one in shelf if one.promoted_at is not None),
        reverse=True,
    )
    others = sorted((one.number for one in shelf if one.promoted_at is None), reverse=True)
    kept = {number for _, number in promoted[:KEEP_PROMOTED]}
    kept |= {number for at, number in promoted if now - at < KEEP_S}
    kept |= {*others[:KEEP_OTHERS], *in_use(state)}
    # What served when a release came may have been promoted long before: an undo went back to it.
    kept |= {one.predecessor for one in shelf if one.number in kept and one.predecessor}
    return tuple(sorted(one.number for one in shelf if one.number not in kept))


def in_use(state: State) -> set[int]:
    """The numbers of the releases that the journal names."""
    named = (state.serving, state.previous, state.retained, state.candidate, state.restore)
    return {one.number for one in (*named, *state.ended) if one is not None}


def forget(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """Old records go a few at a time, when nothing else is to be done.

    The journal names them first: from then on no undo can choose one of them.
    """
    going = set(state.pruned) - in_use(state)
    left = tuple(sorted(one.number for one in seen.shelf if one.number in going))
    if left:
        return Forget(state, f"forgetting {_releases(left)}", left)
    due = superfluous(seen.shelf, state, now)[:AT_ONCE]
    if not due:
        return None
    return Advance(replace(state, pruned=due), f"nobody needs {_releases(due)} any more")


def _releases(numbers: tuple[int, ...]) -> str:
    plural = "s" if len(numbers) > 1 else ""
    return f"release{plural} {', '.join(map(str, numbers))}"
