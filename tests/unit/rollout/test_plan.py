"""Steps that traffic can fill, and slots for every whole percentage."""

from __future__ import annotations

import pytest

from rollout.plan import Plan, merged, replicas_for, share_is_too_large, step_s
from rollout.slots import WEIGHTS, chosen, share

PLAN = Plan(steps=(1, 5, 20, 50), min_samples=30, step_max_s=60, soak_s=10)


def test_every_whole_percentage_is_a_set_of_slots() -> None:
    assert sum(WEIGHTS) == 100
    assert [share(chosen(percent)) for percent in range(101)] == list(range(101))


@pytest.mark.parametrize("percent", [-1, 101])
def test_a_share_outside_0_to_100_is_refused(percent: int) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        chosen(percent)


@pytest.mark.parametrize(
    ("rate", "steps"),
    [(100.0, (1, 5, 20, 50)), (99.0, (5, 20, 50)), (5.0, (20, 50)), (2.0, (50,)), (0.0, (50,))],
)
def test_a_step_that_cannot_fill_its_samples_in_time_is_merged_upward(
    rate: float, steps: tuple[int, ...]
) -> None:
    assert merged(PLAN, rate) == steps


def test_a_step_takes_its_soak_or_the_time_to_fill_but_never_longer_than_allowed() -> None:
    assert step_s(PLAN, 50, 100) == 10
    assert step_s(PLAN, 5, 20) == pytest.approx(30)
    assert step_s(PLAN, 1, 1) == 60


def test_replicas_follow_the_share_and_never_fall_below_the_canary() -> None:
    assert [replicas_for(10, 1, percent) for percent in (0, 1, 20, 50, 100)] == [1, 1, 2, 5, 10]
    assert replicas_for(1, 1, 50) == 1


def test_a_share_is_too_large_only_when_chance_cannot_explain_it() -> None:
    assert not share_is_too_large(1, 3, 97)
    assert share_is_too_large(1, 100, 900)
    assert not share_is_too_large(20, 250, 750)
    assert share_is_too_large(20, 600, 400)
    assert not share_is_too_large(0, 10, 10)
    assert not share_is_too_large(50, 100, 0)
