"""What a person or a push may ask: each is one pure edit of the journal.

The terminal and the webhook write the edited journal by compare-and-swap; the
controller then does what it derives from it. A refused wish is an edit without
a state, and its line says why and what to do.
"""

from __future__ import annotations

from dataclasses import replace

from rollout import handovers, transitions
from rollout.candidate import HoldKind, Phase, advance
from rollout.edit import Edit, Known, no_share
from rollout.state import MAX_HELD, Push, State


def push(state: State, wish: Push) -> Edit:
    """Take a commit into the queue; the newest push replaces a queued one."""
    short, candidate = wish.commit[:12], state.candidate
    if wish.commit == state.serving.commit:
        return Edit(None, f"release {state.serving.number} already serves {short}")
    if candidate is not None and candidate.commit == wish.commit:
        return Edit(None, f"{short} is already on its way as release {candidate.number}")
    if sum(held.binds for held in state.held.values()) >= MAX_HELD:
        return Edit(
            None,
            f"{len(state.held)} rejected commits are held, as many as the journal keeps: "
            "`rollout forget --older-than 90` lets go of those held for more than 90 days",
            wrong=True,
        )
    if state.queue is not None and replace(wish, at=0, by="") == replace(state.queue, at=0, by=""):
        return Edit(None, f"{short} already waits")
    said = f"{short} accepted"
    if candidate is not None and candidate.phase.examined:
        said = f"{short} waits for release {candidate.number}, whose scenarios have passed"
    elif candidate is not None:
        said = f"{short} takes the place of release {candidate.number}"
    elif state.in_undo_window(wish.at) and not wish.give_up_undo:
        said = f"{short} waits for the end of the undo window"
    seen = wish.commit if wish.resolved else state.seen
    return Edit(replace(state, queue=wish, seen=seen), said)


def split(state: State, percent: int, now: float, retained: Known | None = None) -> Edit:
    """A share by hand; 100 is a promotion.

    For a candidate whose scenarios have passed, or, with nothing running, for
    the retained release (`retained`: its record), which was promoted before.
    """
    candidate = state.candidate
    if percent == 100:
        return Edit(None, "100 % is a promotion: use `rollout promote`", wrong=True)
    if not 0 <= percent < 100:
        return Edit(None, f"a share of {percent} % does not exist: use 0 to 99", wrong=True)
    if candidate is None and retained is not None and retained.runs:
        after = transitions.revived(state, retained.sizes, retained.restarts, percent, now)
        return Edit(after, after.said)
    if candidate is None:
        return Edit(
            None, "nothing is running: `rollout deploy COMMIT` starts a release", wrong=True
        )
    if candidate.phase is not Phase.STEPS:
        return Edit(None, no_share(candidate), wrong=True)
    if candidate.manual == percent or (candidate.hold is None and candidate.target == percent):
        return Edit(None, f"release {candidate.number} is at {percent} % already")
    following = replace(candidate, manual=percent, hold=None, since=now)
    said = f"release {candidate.number} goes to {percent} % and stays; `rollout resume` goes on"
    return Edit(replace(state, candidate=following, said=said), said)


def promote(state: State, now: float, retained: Known | None = None) -> Edit:
    """Skip the remaining steps; never the scenarios.

    With nothing running, the retained release (`retained`: its record) serves
    again, and the one that served stands by for an undo.
    """
    candidate = state.candidate
    if candidate is None and retained is not None and retained.runs:
        after = handovers.swapped(state, now)
        return Edit(after, after.said)
    if candidate is None:
        return Edit(None, f"nothing to promote: release {state.serving.number} serves")
    if candidate.phase is Phase.SCALE:
        return Edit(None, f"release {candidate.number} is being promoted already")
    if candidate.phase is not Phase.STEPS:
        return Edit(None, no_share(candidate), wrong=True)
    passed = (*candidate.passed, f"promoted by hand at {candidate.split} %")
    following = advance(candidate, Phase.SCALE, now, hold=None, manual=None, passed=passed)
    said = f"release {candidate.number} is being promoted"
    return Edit(replace(state, candidate=following, said=said), said)


def resume(state: State, now: float) -> Edit:
    """End a hold or a split by hand; for an inconclusive step this is the approval."""
    candidate = state.candidate
    if candidate is None:
        return Edit(None, "nothing is held: no release is running")
    if candidate.manual is not None:
        later = (i for i, step in enumerate(candidate.steps) if step > candidate.split)
        step = next(later, len(candidate.steps))
        following = replace(candidate, manual=None, step=step, since=now)
    elif candidate.hold is None:
        return Edit(None, f"nothing is held: release {candidate.number} is in {candidate.phase}")
    elif candidate.hold.kind is HoldKind.INCONCLUSIVE:
        passed = (*candidate.passed, f"approved by hand: {candidate.hold.why}")
        step = candidate.step + 1
        following = replace(candidate, hold=None, step=step, passed=passed, since=now)
    else:
        following = replace(candidate, hold=None, approved=True, since=now)
    said = f"release {candidate.number} goes on"
    return Edit(replace(state, candidate=following, said=said), said)


def forget(state: State, before: float) -> Edit:
    """Let go of the commits that were held before `before`: they may be released again."""
    gone = {commit for commit, held in state.held.items() if held.at < before}
    if not gone:
        return Edit(None, f"nothing to forget: none of {len(state.held)} held commits is that old")
    kept = {commit: held for commit, held in state.held.items() if commit not in gone}
    said = f"{len(gone)} held commits forgotten, {len(kept)} kept"
    return Edit(replace(state, held=kept, said=said), said)
