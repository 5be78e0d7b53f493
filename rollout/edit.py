"""An edit of the journal that somebody wishes, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass

from rollout.candidate import Candidate, Size
from rollout.state import State


@dataclass(frozen=True, slots=True)
class Edit:
    """`state`: the journal to write, or None for no change. `said`: one line.

    `moves`: traffic moves, so the terminal moves it itself and waits for
    nobody. `wrong`: the wish cannot be granted (a non-zero exit), unlike a
    wish that is already true.
    """

    state: State | None
    said: str
    moves: bool = False
    wrong: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """A release's record, as far as an undo needs it. `runs`: its lane is up with it now."""

    number: int
    commit: str | None
    sizes: dict[str, Size]
    promoted: bool
    lane: str = ""
    runs: bool = False
    restarts: int = 0


def no_share(candidate: Candidate) -> str:
    """Why a candidate cannot be given a share."""
    return (
        f"release {candidate.number} has no share yet (phase {candidate.phase}): "
        "its scenarios come first"
    )


def serves(state: State) -> str:
    """What serves now."""
    return f"release {state.serving.number} serves on {state.serving.lane}"
