"""What an undo from a terminal is to do: where everything goes, with which epoch. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from rollout.errors import RolloutError
from rollout.names import Names, other_lane
from rollout.observation import Part
from rollout.seen import Seen
from rollout.wanted import Wanted

LEAP = 1_000_000
"""How far an undo raises the epoch that cannot read the journal.

A new leader raises it in the journal before it stamps the objects, and may die
in between, so the objects lag behind by an unknown number of leaders: this is
more than there ever are. What the undo writes is then newer than anything that
a controller holds, and it is followed.
"""


class LaneDown(RolloutError):
    """The traffic would go from a lane that answers to one that does not."""


@dataclass(frozen=True, slots=True)
class Order:
    """What the Services must become, with which epoch. `journaled`: the journal says the same."""

    target: Wanted
    epoch: int
    journaled: bool

    @property
    def lane(self) -> str:
        """The lane that gets everything."""
        return self.target.roles[self.target.stable]

    def moves_as(self, other: Order) -> bool:
        """Whether both move the traffic to the same places."""
        mine, theirs = self.target, other.target
        return (mine.roles, mine.slots) == (theirs.roles, theirs.slots)


def without_journal(names: Names, seen: Seen) -> Order | None:
    """What an undo does that cannot read the journal; None if there is nothing to undo.

    To the previous lane that the stable Service names from its promotion until
    the end of the undo window; else to stable's own lane, if anything is apart from it.
    """
    roles, slots = seen.services.view(names)
    if names.stable not in roles:
        raise RolloutError(
            f"Service {names.stable} is missing in {names.lanes}: an admin runs `rollout init`"
        )
    stable = roles[names.stable]
    apart = any(role.lane != stable.lane for role in roles.values())
    apart = apart or any(slot.service != names.stable for slot in slots.values())
    lane = stable.previous_lane or (stable.lane if apart else "")
    if not lane:
        return None
    release = seen.lane(lane).release or stable.release or 0
    everything = dict.fromkeys(roles, lane), dict.fromkeys(slots, names.stable)
    target = Wanted(names.stable, *everything, release, previous_lane="")
    return Order(target, seen.newest(names) + LEAP, journaled=False)


def lane_down(names: Names, seen: Seen, winner: str, force: bool) -> str:
    """Empty, or that the lane which gets everything has no Ready pod.

    Raises LaneDown if a lane that answers would lose its traffic to it, unless forced.
    """
    loser = other_lane(winner)
    if seen.lane(winner).answers(names.app) or loser not in seen.lanes_in_use(names):
        return ""
    part = seen.lane(winner).parts.get(names.app, Part(0, 0, False))
    down = f"lane {winner} has no Ready {names.app} ({part.ready} of {part.replicas})"
    if not force and seen.lane(loser).answers(names.app):
        raise LaneDown(
            f"{down} and {loser} has: nothing is moved; start it with `kubectl -n {names.lanes} "
            f"scale deployment -l lane={winner} --replicas=1`, or repeat with --force"
        )
    return f"{down}: it serves as soon as one is"
