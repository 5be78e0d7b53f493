"""Is the pipeline started, ready, alive? A pure judgement of what the probes saw.

Triton goes on saying "ready" after a model's process has died, so only successes count. Under
load the customers' own successes count, so that a probe which waits in a full queue empties
no lane.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

QUIET_S = 10.0
READY_S = 45.0
FAILURES = 3


@dataclass
class _Model:
    last_success: float | None = None
    failures: int = 0
    reason: str = ""


@dataclass
class Health:
    """The state of the models whose names it is given; times in seconds of one clock."""

    names: Iterable[str]
    stopping: bool = False
    lost: str = ""
    _models: dict[str, _Model] = field(init=False)

    def __post_init__(self) -> None:
        self._models = {name: _Model() for name in self.names}

    def success(self, model: str, now: float) -> None:
        """A request to `model` succeeded, a customer's or a probe."""
        self._models[model] = _Model(last_success=now)

    def failure(self, model: str, reason: str) -> None:
        """A probe of `model` failed."""
        state = self._models[model]
        state.failures += 1
        state.reason = reason

    def quiet(self, now: float) -> list[str]:
        """The models to probe: those without a success in the last QUIET_S seconds."""
        return [name for name, state in self._models.items() if _age(state, now) >= QUIET_S]

    def not_started(self) -> str:
        """ "" once every model has answered, else which has not."""
        waiting = [name for name, state in self._models.items() if state.last_success is None]
        return f"no answer yet from {', '.join(waiting)}" if waiting else ""

    def not_ready(self, now: float) -> str:
        """ "" if every model answered lately, else why no request should come here."""
        if self.stopping:
            return "stopping"
        if why := self.not_started() or self.dead():
            return why
        stale = [name for name, state in self._models.items() if _age(state, now) > READY_S]
        return f"no recent answer from {', '.join(stale)}" if stale else ""

    def dead(self) -> str:
        """ "" while this process is worth keeping, else what cannot mend itself."""
        if self.lost:
            return f"the process of model {self.lost} died"
        for name, state in self._models.items():
            if state.failures >= FAILURES and state.last_success is not None:
                return f"{name} failed {state.failures} times: {state.reason}"
        return ""


def _age(state: _Model, now: float) -> float:
    return float("inf") if state.last_success is None else now - state.last_success
