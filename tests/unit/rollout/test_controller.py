"""The loop on a fake API server: it leads, follows the journal, and writes nothing when late."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from rollout import cli_emergency, push, sequences
from rollout import controller as module
from rollout.candidate import Size
from rollout.cluster import apps, core
from rollout.controller import Controller
from rollout.errors import ApiUnavailable
from rollout.jobs import Jobs
from rollout.lease import Lease
from rollout.names import EPOCH, RELEASE
from rollout.order import LEAP
from rollout.perform import Performer
from rollout.push import Poller
from rollout.samplesource import SampleSource
from rollout.settings import BadSettings
from rollout.state import Push, Restore, Serving
from rollout.undo import turn_back
from rollout.wanted import wanted
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import (
    NAMES,
    api,
    installed,
    now,
    run_lane,
    service,
    state,
    write,
)

SHA = "a" * 40
PLAN = "steps: [20]\nundo_window_s: 60\n"


def controller(fake: FakeApi, folder: Path, pod: str = "pod-a") -> Controller:
    settings = {"plan.yaml": PLAN, "git_url": "", "branch": "main"}
    if core(NAMES.control, "configmaps", NAMES.settings) not in fake.objects:
        fake.put(core(NAMES.control, "configmaps", NAMES.settings), data=settings)
        fake.put(core(NAMES.control, "configmaps", NAMES.trust), data={"allowed_signers": "x"})
    woken = threading.Event()
    performer = Performer(
        api=api(fake), names=NAMES, jobs=Jobs(woken.set), folder=folder, checks=[]
    )
    return Controller(
        api(fake), NAMES, Lease(api(fake), NAMES, f"{pod}_1"), performer,
        SampleSource(api(fake), NAMES), woken,
    )  # fmt: skip


def settle(made: Controller, turns: int = 20) -> None:
    """Turn until there is nothing more to do."""
    for _ in range(turns):
        if made.turn():
            return
    raise AssertionError("never at rest")


def test_a_new_leader_raises_the_epoch_and_stamps_every_object(tmp_path: Path) -> None:
    fake = installed()
    settle(controller(fake, tmp_path))
    assert state(fake).epoch == 2
    for slot in range(7):
        assert service(fake, NAMES.slots, f"s{slot}")["metadata"]["annotations"][EPOCH] == "2"


def test_a_process_without_the_lease_writes_nothing(tmp_path: Path) -> None:
    fake = installed()
    leader, standby = controller(fake, tmp_path), controller(fake, tmp_path, "pod-b")
    settle(leader)
    fake.calls.clear()
    assert standby.turn()
    assert not standby.picture.leading
    assert {verb for verb, _ in fake.calls} == {"get"}


def test_at_rest_only_the_journal_is_read(tmp_path: Path) -> None:
    fake = installed()
    made = controller(fake, tmp_path)
    settle(made)
    fake.calls.clear()
    assert made.turn()
    assert fake.verbs("get") == ["journal"]
    assert fake.verbs("list", "patch", "replace") == []


def test_drift_is_put_right_at_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUIET_S", 0.0)
    fake = installed()
    made = controller(fake, tmp_path)
    settle(made)
    service(fake, NAMES.slots, "s6")["spec"]["externalName"] = "elsewhere.example."
    settle(made)
    assert service(fake, NAMES.slots, "s6")["spec"]["externalName"].startswith("assistant-stable.")


def test_a_push_becomes_the_candidate_and_is_examined(tmp_path: Path) -> None:
    fake = installed()
    made = controller(fake, tmp_path)
    settle(made)
    write(fake, replace(state(fake), queue=Push(SHA, now(), "hook")))
    settle(made)
    candidate = state(fake).candidate
    assert candidate is not None
    assert (candidate.number, candidate.lane) == (2, "green")
    assert [job.number for job in made.performer.jobs.seen()] == [2]
    made.performer.jobs.keep_only(None)


def test_settings_that_turn_bad_stop_nothing_that_runs_but_are_said(tmp_path: Path) -> None:
    fake = installed()
    made = controller(fake, tmp_path)
    settle(made)
    assert made.performer.settings.plan.steps == (20,)
    path = core(NAMES.control, "configmaps", NAMES.settings)
    fake.put(path, data={"plan.yaml": "steps: [5, 1]"})
    made._settings_at = -1e9
    with pytest.raises(BadSettings, match="must rise"):
        made._read_settings()
    assert made.performer.settings.plan.steps == (20,)


def test_an_api_server_that_is_away_is_waited_for(tmp_path: Path) -> None:
    fake = installed()
    made = controller(fake, tmp_path)
    turns = iter(range(100))

    def down(verb: str, path: str) -> None:
        if next(turns) < 3:
            raise ApiUnavailable("refused")

    fake.before = down
    made.run(lambda: state_epoch(fake) == 2)
    assert made.picture.trouble == ""


def state_epoch(fake: FakeApi) -> int:
    before, fake.before = fake.before, lambda verb, path: None
    try:
        return state(fake).epoch
    finally:
        fake.before = before


def test_the_lease_is_let_go_at_the_end(tmp_path: Path) -> None:
    fake = installed()
    made = controller(fake, tmp_path)
    settle(made)
    made.run(lambda: True)
    assert controller(fake, tmp_path, "pod-b").lease.hold()


def test_an_undo_to_an_older_release_is_finished_by_the_controller_too(tmp_path: Path) -> None:
    fake = installed()
    made = controller(fake, tmp_path)
    settle(made)
    run_lane(fake, "green", 2, {RELEASE: "5", EPOCH: "1"})
    serving = Serving(5, "green", SHA, now())
    restore = Restore(1, "blue", None, {"gateway": Size(1, 2)}, now())
    fake.objects[apps(NAMES.lanes, "gateway-blue")]["metadata"]["annotations"][RELEASE] = "3"
    write(fake, replace(state(fake), serving=serving, restore=restore))
    made._last = (None, False)
    settle(made)
    assert state(fake).serving.number == 1
    selector = service(fake, NAMES.lanes, "assistant-stable")["spec"]["selector"]
    assert selector == {"app": "gateway", "lane": "blue"}


def test_an_undo_without_the_journal_outlives_a_change_of_leader(tmp_path: Path) -> None:
    fake = installed()
    run_lane(fake, "green", 2, {RELEASE: "2", EPOCH: "7"})
    first = state(fake).serving
    after = replace(
        state(fake), epoch=7, serving=Serving(2, "green", SHA, now()), previous=first,
        retained=first, undo_until=now() + 600, retire_at=now() + 600,
    )  # fmt: skip
    found = sequences.read(api(fake), NAMES)
    sequences.shift(api(fake), NAMES, found, wanted(after, NAMES), 7, settle=False)
    write(fake, after)
    lost = fake.objects.pop(core(NAMES.control, "configmaps", NAMES.journal))
    undo = cli_emergency._undo(api(fake), NAMES, None)
    assert turn_back(api(fake), NAMES, undo, time.monotonic()).moved
    assert service(fake, NAMES.slots, "s0")["metadata"]["annotations"][EPOCH] == str(7 + LEAP)
    fake.objects[core(NAMES.control, "configmaps", NAMES.journal)] = lost
    settle(controller(fake, tmp_path))
    stable = service(fake, NAMES.lanes, "assistant-stable")
    assert stable["spec"]["selector"]["lane"] == "blue"
    assert (state(fake).serving.number, state(fake).serving.lane) == (1, "blue")
    assert state(fake).held[SHA].verdict == "undone"
    assert stable["metadata"]["annotations"][EPOCH] == str(state(fake).epoch) == str(8 + LEAP)


class Clone:
    """Stands for the git clone: a branch and the names it can resolve."""

    def __init__(self, tip: str, **names: str) -> None:
        self.tip, self.names = tip, names

    def fetch(self, branch: str) -> str:
        return self.tip

    def resolve(self, name: str) -> str:
        if name not in self.names:
            raise push.GitError(f"no commit {name!r}: push it")
        return self.names[name]


def poller(fake: FakeApi, folder: Path, clone: Clone, monkeypatch: pytest.MonkeyPatch) -> Poller:
    made = controller(fake, folder)
    monkeypatch.setattr(made.performer, "repository", lambda: clone)
    return Poller(api(fake), NAMES, made.performer, made.woken, lambda: True)


def test_a_poll_takes_a_tip_up_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = installed()
    one = poller(fake, tmp_path, Clone(SHA), monkeypatch)
    one.once()
    assert state(fake).queue == replace(state(fake).queue or Push("", 0, ""), commit=SHA, by="poll")
    write(fake, replace(state(fake), queue=None))
    one._polled = -1e9
    one.once()
    assert state(fake).queue is None


def test_a_name_in_the_queue_is_resolved_or_dropped_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = installed()
    one = poller(fake, tmp_path, Clone(SHA, main=SHA), monkeypatch)
    one._polled = 1e18
    write(fake, replace(state(fake), queue=Push("main", now(), "hand", give_up_undo=True)))
    one.once()
    waiting = state(fake).queue
    assert waiting is not None
    assert (waiting.commit, waiting.give_up_undo) == (SHA, True)
    write(fake, replace(state(fake), queue=Push("nowhere", now(), "hand")))
    one.once()
    assert state(fake).queue is None
    assert "no commit 'nowhere'" in state(fake).said
    assert state(fake).seen == SHA


def test_a_name_of_what_serves_already_leaves_the_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = installed()
    one = poller(fake, tmp_path, Clone(SHA, main=SHA), monkeypatch)
    one._polled = 1e18
    serving = replace(state(fake).serving, commit=SHA)
    write(fake, replace(state(fake), serving=serving, queue=Push("main", now(), "hand")))
    one.once()
    assert state(fake).queue is None
    assert "already serves" in state(fake).said
