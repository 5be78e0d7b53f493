"""An undo and a controller at the same time, in every order of their requests.

Once an undo has finished, no write of anybody moves traffic back to the losing lane.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from rollout import (
    cli_emergency,
    controller,
    journal,
    lease,
    restore,
    sequences,
    slots,
    undo,
    wanted,
)
from rollout.candidate import Size
from rollout.cluster import apps, core
from rollout.controller import Controller
from rollout.errors import ApiError, Conflict, Superseded
from rollout.jobs import Jobs
from rollout.lease import Lease
from rollout.names import Names
from rollout.order import Order
from rollout.perform import Performer
from rollout.samplesource import SampleSource
from rollout.seen import Seen
from rollout.state import Restore, State
from rollout.undo import turn_back
from tests.unit.rollout.every_order import Actor, OneByOne, Play, every_order
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import (
    NAMES,
    api,
    candidate,
    installed,
    promoted,
    state,
    write,
)

pytestmark = pytest.mark.slow

NOW = 1000.0
TURNS = 50
TURNS_BESIDE = 2
"""Of the controller beside the undo: it takes over and stamps, then follows or tries again."""
JOURNAL = core(NAMES.control, "configmaps", NAMES.journal)
SERVICES = (core(NAMES.slots, "services"), core(NAMES.lanes, "services"))


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time stands still, so that requests are all that happens; and one slot stands for seven."""
    clock = types.SimpleNamespace(time=lambda: NOW, monotonic=lambda: NOW, sleep=lambda _: None)
    for module in (controller, lease, restore, undo):
        monkeypatch.setattr(module, "time", clock)
    today = types.SimpleNamespace(now=lambda zone: datetime.fromtimestamp(NOW, zone))
    monkeypatch.setattr(lease, "datetime", today)
    monkeypatch.setattr(controller, "COURTESY_S", 0.0)
    monkeypatch.setattr(controller, "QUIET_S", 0.0)
    monkeypatch.setattr(sequences, "await_endpoints", lambda *_: None)
    for module in (slots, wanted):
        monkeypatch.setattr(module, "WEIGHTS", (20,))


@pytest.fixture(autouse=True)
def forgetful_undo(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an undo goes on from, so that more orders are alike: its order and its last look.

    One that waits for pods begins each turn with the journal.
    """
    move = undo._move

    def moves(me: Any, names: Names, seen: Seen, order: Order, report: undo.Report) -> None:
        me.remember((seen, order))
        move(me, names, seen, order, report)

    def reads(me: Any, names: Names) -> tuple[State, str]:
        me.remember("a turn")
        return journal.read(me, names)

    monkeypatch.setattr(undo, "_move", moves)
    once = types.SimpleNamespace(read=reads, commit=journal.commit)
    monkeypatch.setattr(restore, "journal", once)


def forgetful(process: Controller, me: Actor) -> None:
    """What a controller goes on from, likewise."""
    turn, take_over, perform = process.turn, process._take_over, process.performer.perform

    def turns() -> bool:
        me.remember((process._led, process._epoch, process._last, process.performer.recorded))
        return turn()

    def takes_over(*journal: Any) -> tuple[State, str]:
        raised = take_over(*journal)
        me.remember(raised)
        return raised

    def performs(*what: Any) -> None:
        me.remember(what)
        perform(*what)

    process.turn = turns  # type: ignore[method-assign]
    process._take_over = takes_over  # type: ignore[method-assign]
    process.performer.perform = performs  # type: ignore[method-assign]


def leader(server: object, folder: Path, pod: str) -> Controller:
    woken = threading.Event()
    performer = Performer(
        api=api(server), names=NAMES, jobs=Jobs(woken.set), folder=folder, checks=[]
    )
    return Controller(
        api(server), NAMES, Lease(api(server), NAMES, f"{pod}_1"), performer,
        SampleSource(api(server), NAMES), woken,
    )  # fmt: skip


def lead(process: Controller, turns: int = TURNS) -> None:
    """The controller's loop until it has nothing to do, or for a few turns."""
    for _ in range(turns):
        try:
            if process.turn():
                return
        except (Superseded, Conflict):
            continue
    assert turns < TURNS, "never at rest"


def traffic(fake: FakeApi) -> set[str]:
    """The lanes that anybody can reach, also by an address of long ago."""
    roles = core(NAMES.lanes, "services", "assistant-")
    found = (one for path, one in fake.objects.items() if path.startswith(roles))
    return {one["spec"]["selector"]["lane"] for one in found}


def shared(verb: str, path: str) -> bool:
    """All that both read and write. Deployments are read at once with the roles."""
    fence = verb == "patch" and path.startswith(apps(NAMES.lanes))
    return path.startswith(SERVICES) or fence


def with_journal(verb: str, path: str) -> bool:
    return shared(verb, path) or path == JOURNAL


@dataclass
class Scene:
    """An undo beside a new leader. `ahead`: leaders that raised the epoch and then died."""

    start: FakeApi
    folder: Path
    sees_journal: bool
    ahead: int
    backwards: bool

    def __post_init__(self) -> None:
        before = state(self.start)
        write(self.start, replace(before, epoch=before.epoch + self.ahead, ended=()))

    def play(self) -> Play:
        """Both at their first request, in a cluster of their own."""
        fake = OneByOne(self.start.objects)
        both = with_journal if self.sees_journal else shared
        undoing = Actor(fake, self.undo, both, self.backwards)
        leading = Actor(fake, self.lead, both)

        def check() -> None:
            if undoing.done:
                assert undoing.error is None, f"the undo: {undoing.error!r}"
                assert traffic(fake) == {"blue"}, "traffic went back"

        def finish() -> None:
            assert leading.error is None, f"the controller: {leading.error!r}"
            for pod in ("pod-a", "pod-b"):
                fake.objects.pop(core(NAMES.control, "leases", NAMES.lease), None)
                lead(leader(fake, self.folder, pod))
                check()
            assert state(fake).serving.lane == "blue"
            assert state(fake).candidate is None

        return Play(fake, [undoing, leading], check, finish)

    def undo(self, me: Actor) -> None:
        if not self.sees_journal:
            me.get = blind(me.fake)
        command = cli_emergency._undo(api(me), NAMES, None)
        assert turn_back(api(me), NAMES, command, NOW).moved

    def lead(self, me: Actor) -> None:
        process = leader(me, self.folder, "pod-a")
        forgetful(process, me)
        lead(process, TURNS_BESIDE)


@dataclass
class Starting:
    """Two processes that follow one journal: an undo whose pods are up by now, and a leader."""

    start: FakeApi
    folder: Path

    def play(self) -> Play:
        """Both at their first request, in a cluster of their own."""
        fake = OneByOne(self.start.objects)
        driving = Actor(fake, self.drive, with_journal)
        leading = Actor(fake, self.lead, with_journal)
        moved = list[bool]()

        def check() -> None:
            now = traffic(fake)
            if driving.done or moved:
                assert driving.error is None, f"the undo: {driving.error!r}"
                assert now == {"blue"}, "traffic went back"
            if now == {"blue"}:
                moved.append(True)

        def finish() -> None:
            assert leading.error is None, f"the controller: {leading.error!r}"
            assert state(fake).serving.lane == "blue"

        return Play(fake, [driving, leading], check, finish)

    def drive(self, me: Actor) -> None:
        restore.drive(api(me), NAMES, 1.0, lambda _: None)

    def lead(self, me: Actor) -> None:
        process = leader(me, self.folder, "pod-a")
        forgetful(process, me)
        lead(process, TURNS_BESIDE)


def blind(fake: FakeApi) -> Callable[[str], Any]:
    """GET for somebody who may not read the journal."""

    def get(path: str) -> Any:
        if path == JOURNAL:
            raise ApiError(403, "configmaps is forbidden")
        return fake.get(path)

    return get


def split(fake: FakeApi) -> State:
    return candidate(fake, 20)


def cluster(begin: Callable[[FakeApi], State]) -> FakeApi:
    """An installation with settings, where this has happened."""
    fake = installed()
    begin(fake)
    plan = {"plan.yaml": "steps: [20, 50]\n", "git_url": "", "branch": "main"}
    fake.put(core(NAMES.control, "configmaps", NAMES.settings), data=plan)
    fake.put(core(NAMES.control, "configmaps", NAMES.trust), data={"allowed_signers": "x"})
    return fake


@pytest.mark.parametrize(
    ("begin", "sees_journal", "ahead", "backwards"),
    [
        (promoted, False, 0, False),
        (promoted, False, 1, True),
        (split, False, 0, True),
        (split, False, 1, False),
        (promoted, True, 0, True),
    ],
)
def test_no_order_of_requests_reverses_a_finished_undo(
    tmp_path: Path,
    begin: Callable[[FakeApi], State],
    sees_journal: bool,
    ahead: int,
    backwards: bool,
) -> None:
    scene = Scene(cluster(begin), tmp_path, sees_journal, ahead, backwards)
    assert every_order(scene.play) > 10


def test_no_order_of_requests_reverses_an_undo_that_two_processes_carry_out(tmp_path: Path) -> None:
    fake = cluster(promoted)
    back = Restore(1, "blue", None, {"gateway": Size(1, 2)}, NOW)
    write(fake, replace(state(fake), restore=back, ended=()))
    assert every_order(Starting(fake, tmp_path).play) > 10
