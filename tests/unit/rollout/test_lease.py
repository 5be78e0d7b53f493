"""The Lease: one holder, taken over when its record stands still, at once within one pod."""

from __future__ import annotations

import pytest

from rollout import lease
from rollout.lease import DURATION_S, Lease
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import NAMES, api


class Clock:
    now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(lease, "time", made)
    return made


def holder(fake: FakeApi, identity: str) -> Lease:
    return Lease(api(fake), NAMES, identity)


def test_the_first_one_takes_it_and_others_stand_by(clock: Clock) -> None:
    fake = FakeApi()
    one, other = holder(fake, "pod-a_1"), holder(fake, "pod-b_2")
    assert one.hold()
    assert not other.hold()
    clock.now += DURATION_S - 1
    assert one.hold()
    clock.now += 2
    assert not other.hold()


def test_a_holder_whose_record_stands_still_is_given_up_for_dead(clock: Clock) -> None:
    fake = FakeApi()
    assert holder(fake, "pod-a_1").hold()
    other = holder(fake, "pod-b_2")
    assert not other.hold()
    clock.now += DURATION_S + 0.1
    assert other.hold()


def test_the_next_process_of_the_same_pod_need_not_wait(clock: Clock) -> None:
    fake = FakeApi()
    assert holder(fake, "pod-a_1").hold()
    assert holder(fake, "pod-a_2").hold()


def test_a_holder_that_was_replaced_learns_it(clock: Clock) -> None:
    fake = FakeApi()
    one = holder(fake, "pod-a_1")
    assert one.hold()
    assert holder(fake, "pod-a_2").hold()
    clock.now += lease.RENEW_S + 0.1
    fake.objects[one._path()]["spec"]["holderIdentity"] = "pod-b_9"
    assert not one.hold()


def test_what_is_let_go_is_free_and_somebody_elses_is_not_let_go(clock: Clock) -> None:
    fake = FakeApi()
    one, other = holder(fake, "pod-a_1"), holder(fake, "pod-b_2")
    assert one.hold()
    other.release()
    assert not other.hold()
    one.release()
    assert other.hold()


def test_it_is_renewed_only_now_and_then(clock: Clock) -> None:
    fake = FakeApi()
    one = holder(fake, "pod-a_1")
    for _ in range(10):
        assert one.hold()
        clock.now += 0.1
    assert len(fake.calls) <= 2
