"""The rehearsal: a release in staging for a moment, its scenarios once or twice, then back to 0."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from rollout import lane_apply, lanes
from rollout.cluster import Api, Object, apps, core
from rollout.errors import RolloutError
from rollout.jobs import Handle
from rollout.lane_view import view
from rollout.manifests import Manifest
from rollout.names import STAGING, Names

POLL_S = 0.3
_ONE_AT_A_TIME = threading.Lock()


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
        # A cancelled rehearsal takes staging down at its end, not under its successor's feet.
        while not _ONE_AT_A_TIME.acquire(timeout=POLL_S):
            handle.say("staging: waiting for the rehearsal before")
        try:
            handle.say("staging: starting")
            lane_apply.apply(self.api, namespace, STAGING, self.manifests, self.number, self.epoch)
            stage(self.api, self.names, 1, self.epoch)
            self._await(handle, ready_s)
            address = lanes.address(self.api, namespace, f"lane-{STAGING}")
            if address is None:
                raise NotReady(
                    f"Service lane-{STAGING} is missing in {namespace}: add it to staging"
                )
            play(address)
        finally:
            with suppress(RolloutError):
                stage(self.api, self.names, 0, self.epoch)
            _ONE_AT_A_TIME.release()

    def _await(self, handle: Handle, ready_s: float) -> None:
        deadline = time.monotonic() + ready_s
        while time.monotonic() < deadline:
            pods = self.api.items(core(self.names.staging, "pods"), f"lane={STAGING}")
            lane = view(STAGING, self._deployments(), pods)
            if lane.settled:
                return
            handle.say(f"staging: {lane.trouble or 'pods are starting'}")
            time.sleep(POLL_S)
        raise NotReady(f"staging not Ready within {ready_s:.0f} s: {lane.trouble}")

    def _deployments(self) -> list[Object]:
        return self.api.items(apps(self.names.staging), f"lane={STAGING}")


def stage(api: Api, names: Names, replicas: int, mine: int) -> None:
    """Set the replicas of every part of staging."""
    wanted = dict.fromkeys(lanes.replicas(api, names.staging, STAGING), replicas)
    lanes.scale(api, names.staging, STAGING, wanted, mine)
