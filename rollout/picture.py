"""What the controller knows after a turn of its loop."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from rollout.actions import Action
from rollout.observation import Observation
from rollout.state import State


@dataclass
class Picture:
    """What the last turn knew, for the status page and the probes."""

    state: State | None = None
    seen: Observation | None = None
    action: Action | None = None
    trouble: str = "starting"
    leading: bool = False
    at: float = 0.0
    """Monotonic seconds at the end of the last turn that could read the journal."""
    turned: float = field(default_factory=time.monotonic)
