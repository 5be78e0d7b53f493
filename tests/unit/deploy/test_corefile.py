"""The committed Corefiles are what their templates say, and the slots add up."""

from __future__ import annotations

import itertools

import pytest

from deploy.corefile import WEIGHTS, corefiles, slots, stub


def test_the_committed_corefiles_equal_their_templates():
    for path, text in corefiles().items():
        assert path.read_text() == text, f"run `python -m deploy.corefile` to write {path}"


def test_every_whole_percentage_is_a_sum_of_slots():
    sums = {sum(some) for n in range(8) for some in itertools.combinations(WEIGHTS, n)}
    assert set(range(101)) <= sums


def test_each_slot_takes_its_weight_and_the_last_takes_the_rest():
    bounds = [slot.below for slot in slots()]
    assert bounds == [1, 3, 7, 15, 31, 63, None]


def test_weights_that_are_not_a_hundred_are_refused():
    with pytest.raises(ValueError, match="add up to 99"):
        slots((1, 98))


def test_the_stub_hands_one_zone_on_and_keeps_nothing():
    text = stub("192.0.2.7")
    assert text.startswith("assistant.split.cluster.local:53 {")
    assert "forward . 192.0.2.7" in text
    assert "cache" not in text
