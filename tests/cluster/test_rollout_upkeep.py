"""A lane that is needed comes back from 0 replicas, and no undo goes to it before."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from rollout import sequences
from rollout.candidate import Phase
from rollout.cluster import apps, core
from rollout.errors import Superseded
from rollout.order import LEAP
from rollout.wanted import wanted
from tests.cluster.tiny_cluster import Tiny, tell

READY_S = 60.0


def scale(tiny: Tiny, lane: str, replicas: int) -> None:
    path = apps(tiny.names.lanes, f"gateway-{lane}")
    tiny.api.patch(path, [{"op": "add", "path": "/spec/replicas", "value": replicas}])


def ready(tiny: Tiny, lane: str, pods: int) -> None:
    """Wait for so many Ready gateways."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        found = tiny.api.get(apps(tiny.names.lanes, f"gateway-{lane}")) or {}
        if found.get("status", {}).get("readyReplicas", 0) == pods:
            return
        time.sleep(0.1)
    raise AssertionError(f"never {pods} Ready gateways of {lane}\n{tiny.log()}")


def split(tiny: Tiny) -> None:
    """A controller, and release 2 at 30 %."""
    tiny.serve()
    tell(tiny, tiny.forge.commit("[AI-1] greet", RELEASE="2"))
    tiny.until(lambda now: now.candidate is not None and now.candidate.phase is Phase.STEPS)
    tiny.run("split", "30", "--wait", "20")


def test_a_serving_lane_at_0_is_told_not_gone_to_unasked_and_brought_back(tiny: Tiny) -> None:
    split(tiny)
    (process,) = tiny.processes
    process.kill()
    process.wait()
    scale(tiny, "blue", 0)
    ready(tiny, "blue", 0)
    assert "lane blue: it serves with gateway at 0 replicas" in tiny.run("status")
    assert "no Ready gateway (0 of 0) and green has: nothing is moved" in tiny.run("undo", status=1)
    assert tiny.state().candidate is not None
    assert "release 2 undone at 30 %" in tiny.run("undo", "--force")
    tiny.traffic_is_on("blue")
    tiny.serve("pod-b")
    ready(tiny, "blue", 2)
    assert "finding" not in tiny.run("status")


def test_a_missing_lane_service_is_a_finding(tiny: Tiny) -> None:
    tiny.api.delete(core(tiny.names.lanes, "services", "lane-blue"))
    assert "finding    Service lane-blue: it is missing" in tiny.run("status")


def test_an_undo_that_cannot_read_the_journal_is_followed_by_a_live_controller(tiny: Tiny) -> None:
    split(tiny)
    blind = replace(tiny, names=replace(tiny.names, journal="not-this-one"))
    assert "going by the Services" in blind.run("undo")
    state = tiny.until(lambda now: now.candidate is None and not now.ended)
    assert state.epoch > LEAP
    assert state.serving.number == 1
    tiny.traffic_is_on("blue")
    assert "only a plain `rollout undo`" in blind.run("abort", status=1)


def test_a_write_from_an_older_look_is_refused_whatever_its_epoch(tiny: Tiny) -> None:
    before, state = sequences.read(tiny.api, tiny.names), tiny.state()
    path = core(tiny.names.lanes, "services", tiny.names.stable)
    mark = {"op": "add", "path": "/metadata/labels/another", "value": "writer"}
    tiny.api.patch(path, [mark])
    target = replace(wanted(state, tiny.names), previous_lane="green")
    with pytest.raises(Superseded, match="another writer was first"):
        sequences.shift(tiny.api, tiny.names, before, target, state.epoch, settle=False)
    found = sequences.read(tiny.api, tiny.names)
    sequences.shift(tiny.api, tiny.names, found, target, state.epoch, settle=False)
