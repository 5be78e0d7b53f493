"""The controller's one decision: from the journal and one look at the world to one action.

No clock and no input or output: `now` (unix seconds) is an argument. Rules are
asked in order and the first that has something to do wins, so that a process
that was killed anywhere continues with what is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from rollout import phases, retention, transitions
from rollout.actions import (
    Action,
    Advance,
    Apply,
    EndRehearsal,
    Prune,
    Record,
    Refill,
    Scale,
    Shift,
    Wait,
)
from rollout.names import Names, other_lane
from rollout.observation import Observation
from rollout.shortfall import at_zero, needed
from rollout.state import Phase, Push, Serving, State
from rollout.wanted import Wanted, wanted

Rule = Callable[[State, Observation, float, Names], Action | None]


def decide(state: State, seen: Observation, now: float, names: Names) -> Action:
    """The next action. Its `after` is journaled before it is carried out."""
    for rule in _RULES:
        action = rule(state, seen, now, names)
        if action is not None:
            return action
    return Wait(state, _rest(state, now))


def followed(state: State, seen: Observation, now: float, names: Names) -> State:
    """The state, or what objects newer than the journal say: an undo could not read it."""
    if seen.epoch <= state.epoch or names.stable not in seen.roles:
        return state
    lane = _winner(seen, names)
    return transitions.adopted(state, lane, seen.lane(lane).release, seen.epoch, now)


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


def _adopt(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """With an epoch of its own: what is left of the undo is then told from the controller's."""
    after = followed(state, seen, now, names)
    if after is state:
        return None
    after = replace(after, epoch=after.epoch + 1)
    return Advance(after, "Services newer than the journal: continuing from what they say")


def _times(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """The admin's times go into the journal, where a terminal finds them."""
    if seen.plan.times == state.times:
        return None
    return Advance(replace(state, times=seen.plan.times), "the times of the settings")


def _align(state: State, seen: Observation, now: float, names: Names) -> Action | None:
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


def _restore(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """An undo to an older release: start it on the idle lane, then move everything."""
    restore = state.restore
    if restore is None:
        return None
    lane = seen.lane(restore.lane)
    if lane.release != restore.number:
        return Apply(
            state, f"starting release {restore.number} again", restore.number, restore.lane
        )
    sizes = {part: size.prod for part, size in restore.sizes.items()}
    if phases.too_small(lane, sizes):
        return Scale(state, f"release {restore.number} at full size", restore.lane, sizes)
    if not lane.settled:
        return Wait(
            state, f"waiting for release {restore.number} on {restore.lane}: {lane.trouble}"
        )
    back = Serving(restore.number, restore.lane, restore.commit, now)
    after = transitions.given_back(state, back, f"undo to {restore.number}", now)
    return Shift(after, after.said, settle=False, drain=state.serving.lane)


def _refill(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """A lane that serves or stands by has pods: what somebody scaled to 0 comes back."""
    for release in needed(state, now):
        lane = seen.lane(release.lane)
        ours = release == state.serving or lane.release == release.number
        if ours and at_zero(lane):
            why = f"lane {release.lane} is needed: {', '.join(at_zero(lane))} back from 0 replicas"
            return Refill(state, why, release.number, release.lane)
    return None


def _retire(state: State, seen: Observation, now: float, names: Names) -> Action | None:
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


def _staging(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """Staging has pods only while a rehearsal runs, also after one that was cut off."""
    candidate = state.candidate
    rehearsing = candidate is not None and candidate.phase is Phase.START
    if rehearsing or not seen.staging:
        return None
    return EndRehearsal(state, "no rehearsal runs: staging to 0")


def _prune(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """Client Services go a day after their split; the journal lets go of them first."""
    due = [number for number, at in state.services.items() if at is not None and at <= now]
    if due:
        kept = {number: at for number, at in state.services.items() if number not in due}
        return Advance(replace(state, services=kept), f"no longer needed: clients of {due}")
    known = {names.candidate(number) for number in state.services}
    found = (role for role in seen.roles if names.candidate_number(role) is not None)
    orphans = tuple(sorted(role for role in found if role not in known))
    return Prune(state, f"deleting {', '.join(orphans)}", orphans) if orphans else None


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
    _adopt,
    _times,
    _align,
    _refill,
    _record,
    _restore,
    _push,
    _staging,
    _candidate,
    _retire,
    _prune,
    retention.forget,
)
