"""What is there and no longer needed: staging's pods, client Services of long ago. Pure."""

from __future__ import annotations

from dataclasses import replace

from rollout.actions import Action, Advance, EndRehearsal, Prune
from rollout.candidate import Phase
from rollout.names import Names
from rollout.observation import Observation
from rollout.state import State


def staging(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """Staging has pods only while a rehearsal runs, also after one that was cut off."""
    candidate = state.candidate
    rehearsing = candidate is not None and candidate.phase is Phase.START
    if rehearsing or not seen.staging:
        return None
    return EndRehearsal(state, "no rehearsal runs: staging to 0")


def prune(state: State, seen: Observation, now: float, names: Names) -> Action | None:
    """Client Services go a day after their split; the journal lets go of them first."""
    due = [number for number, at in state.services.items() if at is not None and at <= now]
    if due:
        kept = {number: at for number, at in state.services.items() if number not in due}
        return Advance(replace(state, services=kept), f"no longer needed: clients of {due}")
    known = {names.candidate(number) for number in state.services}
    found = (role for role in seen.roles if names.candidate_number(role) is not None)
    orphans = tuple(sorted(role for role in found if role not in known))
    return Prune(state, f"deleting {', '.join(orphans)}", orphans) if orphans else None
