"""`undo` and `abort` from a terminal: no controller, and not even a journal, is needed."""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace

import pytest

from rollout import cli_emergency, commands, sequences, transitions
from rollout.cluster import apps, core
from rollout.errors import RolloutError
from rollout.names import EPOCH, RELEASE
from rollout.retained import by_number
from rollout.state import Phase, Push, Size, State
from rollout.undo import Seen, turn_back
from rollout.wanted import wanted
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import (
    NAMES,
    api,
    deployment,
    installed,
    now,
    run_lane,
    service,
    state,
    write,
)

COMMIT = "a" * 40


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
    found = sequences.read(api(fake), NAMES)
    sequences.shift(api(fake), NAMES, found, wanted(after, NAMES), after.epoch, settle=False)
    write(fake, after)


def promoted(fake: FakeApi) -> State:
    before = candidate(fake, 50)
    assert before.candidate is not None
    after = transitions.promoted(before, before.candidate, now())
    align(fake, after)
    return after


def undo(fake: FakeApi, number: int | None = None) -> str:
    command = cli_emergency._undo(api(fake), NAMES, number)
    report = turn_back(api(fake), NAMES, command, time.monotonic())
    return report.said


def everything_is_on(fake: FakeApi, lane: str) -> None:
    for name in ("assistant-stable", "assistant-c2"):
        assert service(fake, NAMES.lanes, name)["spec"]["selector"]["lane"] == lane
    for slot in range(7):
        host = service(fake, NAMES.slots, f"s{slot}")["spec"]["externalName"]
        assert host.startswith("assistant-stable.")


def test_undo_in_the_split_raises_the_epoch_before_it_moves_anything() -> None:
    fake = installed()
    before = candidate(fake, 20)
    assert "undone at 20 %" in undo(fake)
    everything_is_on(fake, "blue")
    after = state(fake)
    assert after.epoch == before.epoch + 1
    assert after.candidate is None
    assert after.held[COMMIT].verdict == "undone"
    writes = [(verb, path) for verb, path in fake.calls if verb in ("replace", "patch")]
    assert writes[0] == ("replace", core(NAMES.control, "configmaps", NAMES.journal))
    assert all(verb == "patch" for verb, _ in writes[1:])


def test_undo_after_a_promotion_goes_back_and_fences_the_winner() -> None:
    fake = installed()
    promoted(fake)
    assert "release 2 undone: release 1 serves on blue" in undo(fake)
    everything_is_on(fake, "blue")
    stamped = fake.objects[apps(NAMES.lanes, "gateway-blue")]["metadata"]["annotations"]
    assert stamped[EPOCH] == str(state(fake).epoch)
    assert "nothing to undo" in undo(fake)


def test_the_losing_gateways_are_asked_to_drain_after_the_slots_moved() -> None:
    fake = installed()
    promoted(fake)
    undo(fake)
    verbs = [verb for verb, _ in fake.calls]
    assert verbs.index("POST") > max(at for at, verb in enumerate(verbs) if verb == "patch")


def test_undo_without_a_journal_goes_by_the_services() -> None:
    for make in (lambda fake: candidate(fake, 20), promoted):
        fake = installed()
        make(fake)
        fake.objects.pop(core(NAMES.control, "configmaps", NAMES.journal))
        assert "lane blue" in undo(fake)
        everything_is_on(fake, "blue")
        assert int(service(fake, NAMES.slots, "s0")["metadata"]["annotations"][EPOCH]) == 2


def test_undo_with_a_spoilt_journal_and_nothing_open_says_so() -> None:
    fake = installed()
    path = core(NAMES.control, "configmaps", NAMES.journal)
    fake.objects[path]["data"]["state.json"] = "{"
    assert "nothing to undo" in undo(fake)
    assert fake.verbs("patch") == []


def test_undo_without_journal_and_without_services_says_what_to_do() -> None:
    fake = FakeApi()
    with pytest.raises(RolloutError, match="rollout init"):
        undo(fake)


def test_a_controller_that_follows_the_journal_meanwhile_does_no_harm() -> None:
    fake = installed()
    candidate(fake, 20)
    once = [True]

    def interfere(verb: str, path: str) -> None:
        if verb == "patch" and path.endswith("/s3") and once:
            once.clear()
            align(fake, state(fake))

    fake.before = interfere
    assert "undone at 20 %" in undo(fake)
    everything_is_on(fake, "blue")
    assert state(fake).epoch == 2


def test_a_journal_written_meanwhile_is_read_again() -> None:
    fake = installed()
    candidate(fake, 20)
    once = [True]

    def interfere(verb: str, path: str) -> None:
        if verb == "replace" and once:
            once.clear()
            write(fake, replace(state(fake), said="somebody else"))

    fake.before = interfere
    assert "undone at 20 %" in undo(fake)
    everything_is_on(fake, "blue")


def test_an_unknown_release_is_one_clear_line() -> None:
    fake = installed()
    with pytest.raises(RolloutError, match="there is no release 7"):
        undo(fake, 7)


def test_abort_and_undo_as_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fake = installed()
    candidate(fake, 20)
    monkeypatch.setattr(cli_emergency.access, "find", lambda: None)
    monkeypatch.setattr(cli_emergency, "Api", lambda _access: fake)
    given = argparse.Namespace(command="abort", output="json", to_revision=None, timeout=1.0)
    assert cli_emergency.run(given, NAMES, time.monotonic()) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["moved"]
    assert "aborted at 20 %" in told["said"]
    assert [step["what"].split()[-1] for step in told["steps"][1:3]] == ["blue", "assistant-stable"]
    assert cli_emergency.run(given, NAMES, time.monotonic()) == 0
    assert not json.loads(capsys.readouterr().out)["moved"]


def test_a_plain_undo_needs_no_record_while_the_lane_stands_by() -> None:
    fake = installed()
    promoted(fake)
    undo(fake)
    assert ("get", core(NAMES.control, "configmaps", "release-1")) not in fake.calls


def test_a_lane_that_no_longer_runs_is_restored_from_its_record() -> None:
    fake = installed()
    promoted(fake)
    run_lane(fake, "blue", 0, {RELEASE: "1", EPOCH: "1"})
    assert "starting release 1 on blue" in undo(fake)
    assert state(fake).restore is not None
    assert service(fake, NAMES.lanes, "assistant-stable")["spec"]["selector"]["lane"] == "green"


def test_a_lane_that_was_just_scaled_to_0_is_restored_though_its_gateways_are_still_ready() -> None:
    fake = installed()
    promoted(fake)
    fake.objects[apps(NAMES.lanes, "gateway-blue")]["spec"]["replicas"] = 0
    assert not by_number(api(fake), NAMES, 1).runs
    assert "starting release 1 on blue" in undo(fake)
    assert service(fake, NAMES.lanes, "assistant-stable")["spec"]["selector"]["lane"] == "green"


@pytest.mark.parametrize(("ready", "runs"), [(0, False), (1, True)])
def test_a_lane_runs_only_with_a_ready_pod_of_every_part(ready: int, runs: bool) -> None:
    fake = installed()
    promoted(fake)
    body = deployment("blue", part="pipeline")
    body["metadata"] |= {"annotations": {RELEASE: "1", EPOCH: "1"}, "generation": 1}
    body["spec"]["replicas"] = 2
    fake.put(apps(NAMES.lanes, "pipeline-blue"), **body, status={"readyReplicas": ready})
    assert by_number(api(fake), NAMES, 1).runs is runs
    assert ("release 1 serves on blue" in undo(fake)) is runs


def test_a_known_release_of_the_seen_lane_is_up_only_with_a_ready_gateway() -> None:
    fake = installed()
    after = promoted(fake)
    deployments = [fake.objects[apps(NAMES.lanes, f"gateway-{lane}")] for lane in ("blue", "green")]
    seen = Seen(sequences.read(api(fake), NAMES), deployments)
    assert after.previous is not None
    back = commands.Known(1, None, {}, True, "blue", True)
    from rollout.undo import known

    assert known(NAMES, seen, after.previous) == back
