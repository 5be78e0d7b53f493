"""The admin's settings: everything has a default, and nothing unknown is let through."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from rollout.discards import DiscardPlan
from rollout.settings import BadSettings, parse
from rollout.state import Times

ROOT = Path(__file__).parents[3]


def test_a_plan_of_steps_alone_has_every_default() -> None:
    found = parse({"plan.yaml": "steps: [5, 50]\n", "git_url": " git://h/r \n"})
    assert found.plan.steps == (5, 50)
    assert (found.git_url, found.branch) == ("git://h/r", "main")
    assert found.plan.times == Times()
    assert found.scenario_limits is None
    assert not found.discards.counts


def test_every_key_arrives() -> None:
    text = """
environment: local
steps: [1, 20]
soak_s: 1.5
step_max_s: 9
min_samples: 7
undo_window_s: 60
drain_s: 3
prune_s: 90
start_max_s: 11
rehearsal_runs: 4
ticket: "T-[0-9]+"
limits: {success: 0.9, first_ms: 500, total_ms: 900, factor: 2, floor_ms: 10}
scenario_limits: {total_ms: 6000}
discards: {share: 0.2, seconds: 1.5, counts: true}
"""
    found = parse({"plan.yaml": text})
    assert (found.plan.soak_s, found.plan.step_max_s, found.plan.start_max_s) == (1.5, 9, 11)
    assert found.plan.times == Times(60, 3, 90)
    assert (found.analysis.min_samples, found.analysis.success, found.analysis.factor) == (
        7,
        0.9,
        2,
    )
    assert found.discards == DiscardPlan(0.2, 1.5, True)
    assert found.scenario_limits is not None
    assert found.scenario_limits.total_ms == 6000
    assert (found.rehearsal_runs, found.ticket.text) == (4, "T-[0-9]+")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "empty"),
        ("soak_s: 1", "steps"),
        ("steps: []", "items"),
        ("steps: [5, 5]", "must rise"),
        ("steps: [50, 5]", "must rise"),
        ("steps: [0]", "outside"),
        ("steps: [100]", "outside"),
        ("steps: [5]\nunknown: 1", "unknown field"),
        ("steps: [5]\nsoak_s: -1", "outside"),
        ("steps: [5]\nsoak_s: .nan", "number"),
        ("steps: [5]\nlimits: {sucess: 1}", "unknown field"),
        ("steps: [5]\nticket: '['", "regular expression"),
        ("steps: [5]\ndiscards: {share: 2}", "outside"),
        ("steps: [5]\ndiscards: {counts: 1}", "true or false"),
        ("steps: [5]\ndiscards: {tokens: 1}", "unknown field"),
        ("steps: [5", "YAML"),
    ],
)
def test_a_bad_plan_is_one_line_with_its_place(text: str, word: str) -> None:
    with pytest.raises(BadSettings, match=word) as caught:
        parse({"plan.yaml": text})
    assert "\n" not in str(caught.value)
    assert "rollout-settings" in str(caught.value)


@pytest.mark.parametrize("name", ["local", "platform"])
def test_the_settings_that_we_ship_are_good(name: str) -> None:
    shipped = yaml.safe_load((ROOT / f"deploy/settings/{name}.yaml").read_text())
    assert parse(shipped["data"]).plan.steps[-1] <= 50
