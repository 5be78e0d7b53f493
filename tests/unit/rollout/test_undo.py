"""`undo` and `abort` from a terminal: no controller, and not even a journal, is needed."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from rollout import cli_emergency, handovers, sequences
from rollout.cluster import apps, core
from rollout.edit import Known
from rollout.errors import ApiUnavailable, RolloutError
from rollout.names import EPOCH, PREVIOUS_LANE, RELEASE
from rollout.order import LEAP, LaneDown
from rollout.retained import by_number
from rollout.seen import Seen
from rollout.undo import NeedsJournal, turn_back
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import (
    COMMIT,
    NAMES,
    align,
    api,
    candidate,
    deployment,
    installed,
    now,
    promoted,
    run_lane,
    service,
    state,
    write,
)


def undo(fake: FakeApi, number: int | None = None, force: bool = False) -> str:
    command = cli_emergency._undo(api(fake), NAMES, number)
    report = turn_back(
        api(fake), NAMES, command, time.monotonic(), plain=number is None, force=force
    )
    return report.said


def lose_journal(fake: FakeApi) -> None:
    fake.objects.pop(core(NAMES.control, "configmaps", NAMES.journal))


def lose_pods(fake: FakeApi, lane: str, replicas: int = 2) -> None:
    body = fake.objects[apps(NAMES.lanes, f"gateway-{lane}")]
    body["spec"]["replicas"], body["status"]["readyReplicas"] = replicas, 0


def slots(fake: FakeApi) -> set[str]:
    return {
        service(fake, NAMES.slots, f"s{slot}")["spec"]["externalName"].partition(".")[0]
        for slot in range(7)
    }


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
        lose_journal(fake)
        assert "lane blue" in undo(fake)
        everything_is_on(fake, "blue")
        assert int(service(fake, NAMES.slots, "s0")["metadata"]["annotations"][EPOCH]) == 1 + LEAP


def test_undo_in_the_middle_of_a_promotion_goes_back_also_without_a_journal() -> None:
    fake = installed()
    candidate(fake, 20)
    stable = service(fake, NAMES.lanes, "assistant-stable")
    stable["spec"]["selector"]["lane"] = "green"
    stable["metadata"]["annotations"] |= {PREVIOUS_LANE: "blue", RELEASE: "2"}
    lose_journal(fake)
    assert "lane blue" in undo(fake)
    everything_is_on(fake, "blue")


def test_a_selector_that_was_left_behind_is_brought_home_without_a_journal() -> None:
    fake = installed()
    candidate(fake, 20)
    for slot in range(7):
        spec = service(fake, NAMES.slots, f"s{slot}")["spec"]
        spec["externalName"] = NAMES.host("assistant-stable")
    lose_journal(fake)
    assert "lane blue" in undo(fake)
    everything_is_on(fake, "blue")


@pytest.mark.parametrize("number", [2, 1])
def test_only_a_plain_undo_goes_by_the_services(number: int) -> None:
    fake = installed()
    promoted(fake)
    lose_journal(fake)
    with pytest.raises(NeedsJournal, match="only a plain `rollout undo`"):
        undo(fake, number)
    assert fake.verbs("patch") == []


def test_a_journal_that_the_api_server_cannot_decode_is_none() -> None:
    fake = installed()
    candidate(fake, 20)

    def broken(verb: str, path: str) -> None:
        if path.endswith("/configmaps/journal"):
            raise ApiUnavailable("500: Internal error occurred: unable to decode")

    fake.before = broken
    assert "lane blue" in undo(fake)
    everything_is_on(fake, "blue")


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
    given = argparse.Namespace(
        command="abort", output="json", to_revision=None, timeout=1.0, force=False
    )
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
    back = Known(1, None, {}, True, "blue", True)
    from rollout.seen import known

    assert known(NAMES, seen, after.previous) == back


@pytest.mark.parametrize("journaled", [True, False])
@pytest.mark.parametrize("replicas", [0, 2])
def test_traffic_is_not_moved_to_a_lane_without_a_ready_pod(replicas: int, journaled: bool) -> None:
    fake = installed()
    before = candidate(fake, 20)
    lose_pods(fake, "blue", replicas)
    if not journaled:
        lose_journal(fake)
    line = rf"lane blue has no Ready gateway \(0 of {replicas}\) and green has: .*--force"
    with pytest.raises(LaneDown, match=line) as caught:
        undo(fake)
    assert "\n" not in str(caught.value)
    assert fake.verbs("patch", "replace") == []
    assert slots(fake) == {"assistant-stable", "assistant-c2"}
    assert not journaled or state(fake) == before


@pytest.mark.parametrize("journaled", [True, False])
def test_a_person_may_insist(journaled: bool) -> None:
    fake = installed()
    candidate(fake, 20)
    lose_pods(fake, "blue")
    if not journaled:
        lose_journal(fake)
    undo(fake, force=True)
    everything_is_on(fake, "blue")


def test_when_neither_lane_answers_an_undo_moves_and_says_so() -> None:
    fake = installed()
    candidate(fake, 20)
    lose_pods(fake, "blue")
    lose_pods(fake, "green")
    command = cli_emergency._undo(api(fake), NAMES, None)
    report = turn_back(api(fake), NAMES, command, time.monotonic())
    assert "lane blue has no Ready gateway (0 of 2)" in report.steps[0][0]
    everything_is_on(fake, "blue")


def test_a_previous_lane_without_pods_is_not_gone_to_without_a_journal_either() -> None:
    fake = installed()
    promoted(fake)
    lose_pods(fake, "blue", 0)
    lose_journal(fake)
    with pytest.raises(LaneDown, match="lane blue has no Ready gateway"):
        undo(fake)
    assert fake.verbs("patch") == []


def test_an_undo_that_moves_nothing_yet_needs_no_pod() -> None:
    fake = installed()
    promoted(fake)
    run_lane(fake, "blue", 0, {RELEASE: "1", EPOCH: "1"})
    lose_pods(fake, "green")
    assert "starting release 1 on blue" in undo(fake)


def pause(fake: FakeApi, meanwhile: Callable[[], None]) -> None:
    """What happens between the look of an undo and its first write to an object."""

    def before(verb: str, path: str) -> None:
        if verb == "patch":
            fake.before = lambda verb, path: None
            meanwhile()

    fake.before = before


def test_an_undo_that_slept_does_not_undo_what_was_decided_since() -> None:
    fake = installed()
    promoted(fake)

    def meanwhile() -> None:
        back = state(fake)
        assert back.serving.lane == "blue"
        align(fake, back)
        align(fake, handovers.swapped(back, now()))

    pause(fake, meanwhile)
    undo(fake)
    everything_is_on(fake, "green")


def test_an_undo_without_the_journal_that_slept_says_that_somebody_went_on() -> None:
    fake = installed()
    promoted(fake)
    lost = fake.objects.pop(core(NAMES.control, "configmaps", NAMES.journal))

    def meanwhile() -> None:
        fake.objects[core(NAMES.control, "configmaps", NAMES.journal)] = lost
        after = replace(state(fake), services={2: None, 3: None}, epoch=7)
        align(fake, after)
        lose_journal(fake)

    pause(fake, meanwhile)
    assert "somebody else moves the traffic" in undo(fake)
    everything_is_on(fake, "green")
