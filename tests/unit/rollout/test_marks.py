"""The marks of the controller have one form: anything else neither counts nor stops anybody."""

from __future__ import annotations

import json
import time

import pytest

from rollout import alignment, cli_emergency, codec, watcher
from rollout.cluster import core
from rollout.codec import BadJournal
from rollout.marks import DIGITS, epoch, release
from rollout.names import EPOCH, PREVIOUS_LANE, RELEASE, Names
from rollout.plan import Plan
from rollout.undo import turn_back
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import NAMES, api, installed, now, run_lane, service, state

CONTROLLERS = "9" * (DIGITS - 1)
"""The highest epoch that the API server lets the controller write."""
NO_NUMBER = ["9" * 15, "1" + "0" * DIGITS, "9" * 5000, "-1", "1.0", " 1", "1\n", "\u0663", "", "x"]


@pytest.mark.parametrize("text", NO_NUMBER, ids=lambda text: text[:16] or "empty")
def test_what_no_writer_of_ours_can_have_written_counts_as_none(text):
    body = {"metadata": {"annotations": {EPOCH: text, RELEASE: text}}}
    assert (epoch(body), release(body)) == (0, None)


@pytest.mark.parametrize("annotations", [None, {}, {"other": "7"}])
def test_an_object_may_bear_no_mark(annotations):
    body = {"metadata": {"annotations": annotations}}
    assert (epoch(body), release(body)) == (0, None)


@pytest.mark.parametrize("text", ["0", "1", CONTROLLERS, "1" + "0" * (DIGITS - 1)])
def test_what_the_controller_may_write_and_what_an_undo_counts_on_to_is_read(text):
    body = {"metadata": {"annotations": {EPOCH: text, RELEASE: text}}}
    assert (epoch(body), release(body)) == (int(text), int(text))


@pytest.mark.parametrize("value", [-1, 1.0, "7", True, None, 10**DIGITS], ids=str)
def test_a_journal_with_another_epoch_cannot_be_read(value):
    text = codec.dump(state(installed()))
    spoilt = json.dumps({**json.loads(text), "epoch": value})
    with pytest.raises(BadJournal, match="epoch"):
        codec.load(spoilt)


def undone_without_its_journal(fake: FakeApi) -> None:
    """An undo from blue to green while the journal cannot be read, which then comes back."""
    path = core(NAMES.control, "configmaps", NAMES.journal)
    journal = fake.objects.pop(path)
    command = cli_emergency._undo(api(fake), NAMES, None)
    turn_back(api(fake), NAMES, command, time.monotonic())
    fake.objects[path] = journal


@pytest.mark.parametrize("text", [CONTROLLERS, *NO_NUMBER], ids=lambda text: text[:16] or "empty")
@pytest.mark.parametrize("where", ["assistant-stable", "s3"])
def test_a_planted_epoch_neither_stops_an_undo_nor_reverses_it(text, where):
    fake = installed()
    run_lane(fake, "green", 2, {RELEASE: "2", EPOCH: "1"})
    stable = service(fake, NAMES.lanes, "assistant-stable")
    stable["metadata"]["annotations"][PREVIOUS_LANE] = "green"
    namespace = NAMES.slots if where == "s3" else NAMES.lanes
    service(fake, namespace, where)["metadata"]["annotations"][EPOCH] = text
    undone_without_its_journal(fake)
    assert service(fake, NAMES.lanes, "assistant-stable")["spec"]["selector"]["lane"] == "green"
    seen, _ = watcher.look(api(fake), NAMES, Plan())
    assert alignment.followed(state(fake), seen, now(), NAMES).serving.lane == "green"


@pytest.mark.parametrize("name", ["assistant-c007", "assistant-c", "assistant-cx", "assistant-c-1"])
def test_only_the_name_that_a_release_gives_its_client_service_is_one(name):
    assert Names().candidate_number(name) is None
    assert Names().candidate_number("assistant-c7") == 7
