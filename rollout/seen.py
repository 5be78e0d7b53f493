"""What an undo from a terminal must see: Services and Deployments, read at once, and no pods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

from rollout import sequences
from rollout.cluster import Api, Object, apps
from rollout.edit import Known
from rollout.lane_view import view
from rollout.names import LANES, Names
from rollout.observation import Lane
from rollout.services import Services
from rollout.state import Serving, State


@dataclass(frozen=True, slots=True)
class Seen:
    """Services and Deployments as the API server gave them."""

    services: Services
    deployments: list[Object]

    def lane(self, name: str) -> Lane:
        """One lane, without its pods."""
        return view(name, self.deployments, [])

    def of_lane(self, name: str) -> list[Object]:
        """The lane's Deployments as the API server gave them."""
        return [one for one in self.deployments if one["metadata"]["labels"].get("lane") == name]

    def newest(self, names: Names) -> int:
        """The newest epoch that any object carries."""
        roles, slots = self.services.view(names)
        epochs = [role.epoch for role in roles.values()] + [slot.epoch for slot in slots.values()]
        epochs += [part.epoch for lane in LANES for part in self.lane(lane).parts.values()]
        return max(epochs, default=0)

    def lanes_in_use(self, names: Names) -> set[str]:
        """The lanes that a lookup leads to now."""
        roles, slots = self.services.view(names)
        used = {names.stable, *(slot.service for slot in slots.values())}
        return {roles[name].lane for name in used & roles.keys()}


def reads(api: Api, names: Names) -> list[Any]:
    """The calls whose two answers make a `Seen`."""
    lanes = f"lane in ({','.join(LANES)})"
    return [partial(sequences.read, api, names), partial(api.items, apps(names.lanes), lanes)]


def previous_release(names: Names, state: State, seen: Seen) -> Known | None:
    """The release that a plain undo goes to, if its lane is up with it."""
    back = state.previous
    return None if back is None else known(names, seen, back)


def known(names: Names, seen: Seen, release: Serving) -> Known:
    """A once promoted release, from its lane's Deployments."""
    lane = seen.lane(release.lane)
    runs = lane.release == release.number and lane.runs(names.app)
    return Known(release.number, release.commit, {}, True, release.lane, runs)
