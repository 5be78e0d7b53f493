"""Records of releases: enough to run one again, and a verdict is written once for all."""

from __future__ import annotations

import pytest

from rollout import records
from rollout.candidate import Size
from rollout.cluster import core
from rollout.records import BadRecord, Record
from rollout.state import Ended
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import NAMES, api, deployment

RECORD = Record(
    number=2, lane="green", created=1.0, commit="a" * 40, tickets=("AI-1",),
    sizes={"gateway": Size(1, 2)}, scenarios={"a.yaml": "名字: 甲"},
    manifests=[deployment("green")],
)  # fmt: skip


def saved() -> FakeApi:
    fake = FakeApi()
    records.save(api(fake), NAMES, RECORD)
    return fake


def test_a_record_is_read_as_it_was_written() -> None:
    assert records.read(api(saved()), NAMES, 2) == RECORD
    assert records.read(api(saved()), NAMES, 3) is None


def test_a_verdict_written_again_changes_nothing() -> None:
    fake = saved()
    for _ in range(2):
        records.conclude(api(fake), NAMES, Ended(2, "promoted", "fine", 5.0))
    found = records.read(api(fake), NAMES, 2)
    assert found is not None
    assert (found.verdict, found.promoted_at) == ("promoted", 5.0)
    assert found.known(None).promoted


def test_an_undone_release_stays_one_that_was_promoted() -> None:
    fake = saved()
    records.conclude(api(fake), NAMES, Ended(2, "promoted", "fine", 5.0))
    records.conclude(api(fake), NAMES, Ended(2, "undone", "bad", 6.0))
    found = records.read(api(fake), NAMES, 2)
    assert found is not None
    assert (found.verdict, found.promoted_at) == ("undone", 5.0)


def test_an_examination_made_again_replaces_a_record_but_never_a_promoted_one() -> None:
    fake = saved()
    records.save(api(fake), NAMES, RECORD)
    records.conclude(api(fake), NAMES, Ended(2, "promoted", "fine", 5.0))
    records.save(api(fake), NAMES, RECORD)
    found = records.read(api(fake), NAMES, 2)
    assert found is not None
    assert found.verdict == "promoted"
    other = Record(number=2, lane="blue", created=1.0, commit="b" * 40)
    with pytest.raises(BadRecord, match="another commit"):
        records.save(api(fake), NAMES, other)


def test_a_verdict_on_a_release_without_record_is_no_error() -> None:
    records.conclude(api(FakeApi()), NAMES, Ended(9, "rejected", "unsigned", 1.0))


def test_history_is_in_order_and_leaves_other_config_maps_out() -> None:
    fake = saved()
    fake.put(core(NAMES.control, "configmaps", "journal"), data={})
    records.save(api(fake), NAMES, Record(number=10, lane="blue", created=1.0))
    assert [one.number for one in records.history(api(fake), NAMES)] == [2, 10]


@pytest.mark.parametrize("spoil", ["{", "{}", '{"number": 2}'])
def test_a_spoilt_record_is_one_line(spoil: str) -> None:
    fake = saved()
    fake.objects[core(NAMES.control, "configmaps", "release-2")]["data"]["record.json"] = spoil
    with pytest.raises(BadRecord, match="release-2") as caught:
        records.read(api(fake), NAMES, 2)
    assert "\n" not in str(caught.value)


def test_manifests_that_do_not_fit_into_a_record_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(records, "MAX_BYTES", 100)
    with pytest.raises(BadRecord, match="a record holds 100"):
        records.build(NAMES, RECORD)
