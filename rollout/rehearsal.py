"""The rehearsal: a release in staging for a moment, its scenarios once or twice, then back to 0."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from rollout import lanes
from rollout.cluster import Api, Object, apps, core
from rollout.errors import RolloutError
from rollout.jobs import Handle
from rollout.manifests import Manifest
from rollout.names import Names

LANE = "staging"
POLL_S = 0.3


class NotReady(RolloutError):
    """Staging did not come up in time."""


@dataclass(frozen=True)
class Rehearsal:
    """Staging's manifests of one release. `epoch`: the controller's, against late processes."""

    api: Api
    names: Names
    manifests: list[Manifest]
    number: int
    epoch: int

    def hold(self, handle: Handle, ready_s: float, play: Callable[[str], None]) -> None:
        """Start staging, `play` the scenarios against its address, and take it down again."""
        namespace = self.names.staging
        try:
            handle.say("staging: starting")
            lanes.apply(self.api, namespace, LANE, self.manifests, self.number, self.epoch)
            self._scale(1)
            self._await(handle, ready_s)
            address = lanes.address(self.api, namespace, f"lane-{LANE}")
            if address is None:
                raise NotReady(f"Service lane-{LANE} is missing in {namespace}: add it to staging")
            play(address)
        finally:
            with suppress(RolloutError):
                self._scale(0)

    def _scale(self, replicas: int) -> None:
        parts = {one["metadata"]["labels"]["app"] for one in self._deployments()}
        wanted = dict.fromkeys(parts, replicas)
        lanes.scale(self.api, self.names.staging, LANE, wanted, self.epoch)

    def _await(self, handle: Handle, ready_s: float) -> None:
        deadline = time.monotonic() + ready_s
        while time.monotonic() < deadline:
            pods = self.api.items(core(self.names.staging, "pods"), f"lane={LANE}")
            lane = lanes.view(LANE, self._deployments(), pods)
            if lane.settled:
                return
            handle.say(f"staging: {lane.trouble or 'pods are starting'}")
            time.sleep(POLL_S)
        raise NotReady(f"staging not Ready within {ready_s:.0f} s: {lane.trouble}")

    def _deployments(self) -> list[Object]:
        return self.api.items(apps(self.names.staging), f"lane={LANE}")
