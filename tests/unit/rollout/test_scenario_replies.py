"""The committed patterns, searched in the sentences that the assistant really writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from apps.pipeline.render import Renderer
from apps.pipeline.reply import Fact, Reply
from rollout.scenario import Scenario, load

SCENARIOS = sorted((Path(__file__).parents[3] / "rollout/scenarios").glob("*.yaml"))
REFERENCES = {"glucose": ("3.9–6.1", "high"), "hdl": ("≥ 1.0", "low")}
LABELS = {"glucose": "血糖 glucose"}
RENDER = Renderer()


def reply(scenario: Scenario) -> str:
    """The assistant's text for a scenario's customer."""
    expect = scenario.turns[0].expect
    facts = [
        Fact(name, LABELS.get(name, name), value, "", *REFERENCES.get(name, ("", "normal")))
        for name, value in expect.facts
    ]
    facts += [Fact("reported_on", "date", "2026-10-20"), Fact("laboratory", "lab", "Lab")]
    facts += [Fact("deductible", "deductible", "1500.00", "CNY")]
    facts += [Fact("as_of", "as of", "2026-11-01"), Fact("plan", "plan", "Standard Health")]
    ticket = {"id": "T-000001", "created": True}
    return RENDER(expect.intent, Reply(language=scenario.language, facts=facts, ticket=ticket))


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.name)
def test_every_pattern_is_found_in_the_assistants_own_sentence(path: Path) -> None:
    scenario = load(path.read_text())
    text = reply(scenario)
    for turn in scenario.turns:
        assert turn.expect.reply_matches
        for pattern in turn.expect.reply_matches:
            assert pattern.found_in(text), (pattern, text)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.name)
def test_a_sentence_without_its_numbers_does_not_pass(path: Path) -> None:
    scenario = load(path.read_text())
    emptied = re.sub(r"[0-9]", "", reply(scenario))
    for turn in scenario.turns:
        assert not all(pattern.found_in(emptied) for pattern in turn.expect.reply_matches)
