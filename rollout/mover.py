"""Actions that only need the API server: a terminal can carry them out without the controller."""

from __future__ import annotations

from dataclasses import dataclass

from rollout import actions, lane_apply, lanes, manifests, records, sequences
from rollout.cluster import Api
from rollout.drain import drain
from rollout.errors import RolloutError
from rollout.names import Names
from rollout.records import Record
from rollout.rehearsal import stage
from rollout.services import Services
from rollout.state import Ended, State
from rollout.wanted import wanted


class NoRecord(RolloutError):
    """A release without a record cannot be started or compared with."""


@dataclass
class Mover:
    """`direct`: pods can be reached by their addresses, as from inside the cluster."""

    api: Api
    names: Names
    direct: bool = False
    recorded: frozenset[Ended] = frozenset()

    def perform(self, action: actions.Action, found: Services) -> None:
        """Do it. Raises Superseded, Conflict or ApiUnavailable: then look again."""
        epoch = action.after.epoch
        match action:
            case actions.Shift():
                self._shift(action, found)
            case actions.Scale():
                lanes.scale(self.api, self.names.lanes, action.lane, action.replicas, epoch)
            case actions.Refill():
                self._refill(action.number, action.lane, epoch)
            case actions.EndRehearsal():
                stage(self.api, self.names, 0, epoch)
            case actions.Apply():
                self._apply(action.after, action.number, action.lane)
            case actions.Record():
                records.conclude(self.api, self.names, action.ended)
                self.recorded |= {action.ended}
            case actions.Prune():
                sequences.prune(self.api, self.names, action.services)

    def record(self, number: int) -> Record:
        """The record of a release. Raises NoRecord."""
        found = records.read(self.api, self.names, number)
        if found is None:
            raise NoRecord(f"release {number} has no record: choose another from `rollout history`")
        return found

    def _refill(self, number: int, lane: str, epoch: int) -> None:
        """By its record; one pod each if that is gone: any is better than none."""
        try:
            sizes = self.record(number).sizes
        except (NoRecord, records.BadRecord):
            sizes = {}
        found = lanes.replicas(self.api, self.names.lanes, lane)
        wanted = {part: sizes[part].prod if part in sizes else 1 for part in found}
        empty = {part: wanted[part] for part, replicas in found.items() if not replicas}
        lanes.scale(self.api, self.names.lanes, lane, empty, epoch)

    def _shift(self, action: actions.Shift, found: Services) -> None:
        target, epoch = wanted(action.after, self.names), action.after.epoch
        sequences.shift(self.api, self.names, found, target, epoch, settle=action.settle)
        if action.drain:
            drain(self.api, self.names, action.drain, direct=self.direct)

    def _apply(self, state: State, number: int, lane: str) -> None:
        objects = manifests.for_lane(self.record(number).manifests, lane)
        lane_apply.apply(self.api, self.names.lanes, lane, objects, number, state.epoch)
