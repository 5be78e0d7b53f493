"""Which function a phase of a candidate has: what is the next thing to do? Pure."""

from __future__ import annotations

from collections.abc import Callable

from rollout import outcomes, shares, trial
from rollout.actions import Action, Wait
from rollout.candidate import Candidate, Hold, Phase
from rollout.names import Names
from rollout.observation import Observation
from rollout.state import State

Step = Callable[[State, Candidate, Observation, float, Names], Action]


def proceed(state: State, seen: Observation, now: float, names: Names) -> Action:
    """The candidate's next action."""
    candidate = state.candidate
    assert candidate is not None
    if candidate.hold is not None:
        return _held(state, candidate, candidate.hold, seen, now, names)
    return _PHASES[candidate.phase](state, candidate, seen, now, names)


def _held(
    state: State, candidate: Candidate, hold: Hold, seen: Observation, now: float, names: Names
) -> Action:
    """A hold waits for a person, but not with a share on a lane that fails."""
    fault = candidate.split and outcomes.fault(candidate, seen, names)
    if fault:
        return outcomes.reject(state, fault, seen, now, names)
    return Wait(state, f"held ({hold.kind}): {hold.why}; `rollout resume` goes on, `abort` ends it")


_PHASES: dict[Phase, Step] = {
    Phase.VERIFY: trial.verify,
    Phase.START: trial.start,
    Phase.SCENARIOS: trial.scenarios,
    Phase.STEPS: shares.steps,
    Phase.SCALE: shares.scale,
}
