"""The controller's one decision: from the journal and one look at the world to one action.

No clock and no input or output: `now` (unix seconds) is an argument. Rules are
asked in order and the first that has something to do wins, so that a process
that was killed anywhere continues with what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rollout import alignment, leftovers, phases, retention, standby, transitions
from rollout.actions import Action, Advance, Record, Wait
from rollout.names import Names
from rollout.observation import Observation
from rollout.state import Push, State

Rule = Callable[[State, Observation, float, Names], Action | None]


def decide(state: State, seen: Observation, now: float, names: Names) -> Action:
    """The next action. Its `after` is journaled before it is carried out."""
    for rule in _RULES:
        action = rule(state, seen, now, names)
        if action is not None:
            return action
    return Wait(state, _rest(state, now))


def _times(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """The admin's times go into the journal, where a terminal finds them."""
    if seen.plan.times == state.times:
        return None
    return Advance(replace(state, times=seen.plan.times), "the times of the settings")


def _record(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """Verdicts go into the records; only then does the journal let go of them."""
    if not state.ended:
        return None
    ended = state.ended[0]
    why = f"release {ended.number}: {ended.verdict}"
    if ended in seen.recorded:
        return Advance(replace(state, ended=state.ended[1:]), f"{why}, recorded")
    return Record(state, why, ended)


def _push(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """A push starts, supersedes, or stays in the queue."""
    push, candidate = state.queue, state.candidate
    if push is None or state.restore is not None or not push.resolved:
        return None
    if candidate is None and push.commit == state.serving.commit:
        why = f"release {state.serving.number} already serves {push.commit[:12]}"
        return Advance(replace(state, queue=None, said=why), why)
    if candidate is not None and candidate.commit == push.commit:
        return Advance(replace(state, queue=None), f"{push.commit[:12]} is already on its way")
    if candidate is not None:
        return None if candidate.phase.examined else _supersede(state, push, now, seen)
    if state.in_undo_window(now) and not push.give_up_undo:
        return None
    after = transitions.started(state, push, now)
    return Advance(after, after.said)


def _supersede(state: State, push: Push, now: float, seen: Observation) -> Action:
    why = f"superseded by {push.commit[:12]}"
    after = transitions.started(transitions.ended(state, "superseded", why, now), push, now)
    return Advance(after, after.said)


def _candidate(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    return phases.proceed(state, seen, now, names) if state.candidate is not None else None


def _rest(state: State, now: float) -> str:
    if state.queue is not None and state.in_undo_window(now):
        return (
            f"{state.queue.commit[:12]} waits for the end of the undo window; "
            f"`rollout deploy {state.queue.commit[:12]} --give-up-undo` starts it now"
        )
    return f"release {state.serving.number} serves on {state.serving.lane}"


_RULES: tuple[Rule, ...] = (
    alignment.adopt,
    _times,
    alignment.align,
    standby.refill,
    _record,
    standby.restore,
    _push,
    leftovers.staging,
    _candidate,
    standby.retire,
    leftovers.prune,
    retention.forget,
)
