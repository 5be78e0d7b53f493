"""A small installation on the fake API server: two lanes, release 1 on blue, made by `init`."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, cast

from rollout import init, journal, sequences, transitions
from rollout.candidate import Phase, Size
from rollout.cluster import Api, apps, core
from rollout.names import EPOCH, RELEASE, WANTED_REPLICAS, Names
from rollout.state import Push, State
from rollout.wanted import wanted
from tests.unit.rollout.fake_api import FakeApi, Object

NAMES = Names()
COMMIT = "a" * 40


def api(fake: FakeApi) -> Api:
    """The fake where a real one is asked for."""
    return cast(Api, fake)


def deployment(lane: str, size: int = 2, part: str = "gateway") -> Object:
    """A rendered Deployment of a lane."""
    labels = {"app": part, "lane": lane}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": f"{part}-{lane}",
            "namespace": NAMES.lanes,
            "labels": labels,
            "annotations": {WANTED_REPLICAS: str(size)},
        },
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": part, "image": f"registry/{part}@sha256:1"}]},
            },
        },
    }


def run_lane(
    fake: FakeApi, lane: str, replicas: int, annotations: dict[str, str] | None = None
) -> None:
    """Put a lane's Deployment and pods there, all Ready."""
    body = deployment(lane)
    body["metadata"]["annotations"] |= annotations or {}
    body["metadata"]["generation"] = 1
    body["spec"]["replicas"] = replicas
    body["status"] = {
        "observedGeneration": 1, "replicas": replicas, "updatedReplicas": replicas,
        "readyReplicas": replicas,
    }  # fmt: skip
    fake.put(apps(NAMES.lanes, f"gateway-{lane}"), **body)
    fake.put(core(NAMES.lanes, "services", f"lane-{lane}"), spec={"selector": {"lane": lane}})
    for number in range(replicas):
        fake.put(
            core(NAMES.lanes, "pods", f"gateway-{lane}-{number}"),
            metadata={"labels": {"app": "gateway", "lane": lane}},
            status={"phase": "Running"},
        )


def installed() -> FakeApi:
    """Release 1 on blue, as `rollout init` leaves it."""
    fake = FakeApi()
    run_lane(fake, "blue", 2)
    init.init(
        api(fake),
        NAMES,
        "blue",
        [deployment("blue", 1)],
        [deployment("blue", 2)],
        {},
        lambda _: None,
    )
    fake.calls.clear()
    return fake


def write(fake: FakeApi, state: State) -> None:
    """Set the journal to a state."""
    _, version = journal.read(api(fake), NAMES)
    journal.write(api(fake), NAMES, state, version)
    fake.calls.clear()


def state(fake: FakeApi) -> State:
    """The journal's state."""
    return journal.read(api(fake), NAMES)[0]


def now() -> float:
    return time.time()


def service(fake: FakeApi, namespace: str, name: str) -> Any:
    """A Service's body."""
    return fake.objects[core(namespace, "services", name)]


def candidate(fake: FakeApi, split: int) -> State:
    """Release 2 on green with this share, in the journal and in the Services."""
    run_lane(fake, "green", 2, {RELEASE: "2", EPOCH: "1"})
    started = transitions.started(state(fake), Push(COMMIT, now(), "hook"), now())
    assert started.candidate is not None
    running = replace(
        started.candidate,
        phase=Phase.STEPS, steps=(20, 50), split=split, step_since=now(),
        sizes={"gateway": Size(1, 2)},
    )  # fmt: skip
    after = replace(started, candidate=running, services={2: None})
    align(fake, after)
    return after


def align(fake: FakeApi, after: State) -> None:
    """Write a journal, and Services that follow it."""
    found = sequences.read(api(fake), NAMES)
    sequences.shift(api(fake), NAMES, found, wanted(after, NAMES), after.epoch, settle=False)
    write(fake, after)


def promoted(fake: FakeApi) -> State:
    """Release 2 serves on green, and release 1 stands by on blue."""
    before = candidate(fake, 50)
    assert before.candidate is not None
    after = transitions.promoted(before, before.candidate, now())
    align(fake, after)
    return after
