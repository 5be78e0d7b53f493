"""What a person may take back, at once: each is one pure edit of the journal with a new epoch."""

from __future__ import annotations

from dataclasses import replace

from rollout import handovers, transitions
from rollout.edit import Edit, Known, no_share, serves
from rollout.names import other_lane
from rollout.state import Restore, Serving, State


def abort(state: State, now: float) -> Edit:
    """End the candidate, or an undo that still waits for its pods."""
    if state.restore is not None:
        said = f"undo to release {state.restore.number} given up; {serves(state)}"
        after = replace(state, restore=None, retire_at=now, epoch=state.epoch + 1, said=said)
        return Edit(after, said, moves=True)
    candidate = state.candidate
    if candidate is None:
        waiting = f"; {state.queue.commit[:12]} waits" if state.queue else ""
        return Edit(None, f"nothing to abort: {serves(state)}{waiting}")
    after = transitions.ended(state, "aborted", "aborted by hand", now)
    said = f"release {candidate.number} aborted at {candidate.split} %; {serves(state)}"
    return Edit(replace(after, epoch=state.epoch + 1, said=said), said, moves=True)


def undo(state: State, now: float, previous: Known | None) -> Edit:
    """Everything to the release that served before; `previous` is the record of that one."""
    candidate = state.candidate
    if candidate is not None and candidate.step_since is not None:
        after = transitions.ended(state, "undone", "undone by hand", now)
        said = f"release {candidate.number} undone at {candidate.split} %; {serves(state)}"
        return Edit(replace(after, epoch=state.epoch + 1, said=said), said, moves=True)
    if candidate is not None and not (previous and state.in_undo_window(now)):
        back = f", `rollout undo --to-revision {previous.number}` goes back" if previous else ""
        said = f"nothing to undo: {no_share(candidate)}; `rollout abort` ends it{back}"
        return Edit(None, said)
    if state.previous is None or previous is None:
        return Edit(
            None,
            f"nothing to undo: {serves(state)}; `rollout history` lists releases "
            "and `rollout undo --to-revision N` goes back to one",
        )
    return undo_to(state, now, previous)


def undo_to(state: State, now: float, release: Known) -> Edit:
    """Everything to a release that was once promoted: at once if it runs, else it is started."""
    if release.number == state.serving.number:
        if state.candidate is not None and state.candidate.split:
            return undo(state, now, None)
        return Edit(None, f"nothing to undo: {serves(state)}")
    if not release.promoted:
        return Edit(
            None,
            f"release {release.number} was never promoted: choose a promoted one from "
            "`rollout history`",
            wrong=True,
        )
    if state.restore is not None and state.restore.number == release.number:
        return Edit(None, f"release {release.number} is being started already", moves=True)
    state = replace(state, epoch=state.epoch + 1)
    if release.runs and release.lane != state.serving.lane:
        state = transitions.ended(state, "aborted", f"undo to {release.number}", now)
        back = Serving(release.number, release.lane, release.commit, now)
        after = handovers.given_back(state, back, "undone by hand", now)
        return Edit(after, after.said, moves=True)
    lane = other_lane(state.serving.lane)
    restore = Restore(release.number, lane, release.commit, release.sizes, now)
    after = handovers.restoring(state, restore, now)
    return Edit(after, after.said, moves=True)
