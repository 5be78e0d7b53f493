"""The committed patterns, searched in the sentences that the assistant really writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from apps.pipeline.citation import Citation
from apps.pipeline.render import Renderer
from apps.pipeline.reply import Fact, Reply
from rollout.scenario import Scenario, load

SCENARIOS = sorted((Path(__file__).parents[3] / "rollout/scenarios").glob("*.yaml"))
REFERENCES = {"glucose": ("3.9–6.1", "high"), "hdl": ("≥ 1.0", "low")}
LABELS = {"glucose": "血糖 glucose"}
RENDER = Renderer()
# What the documents say is theirs; page and place are the assistant's own words.
QUOTED = Citation(
    document="terms.pdf",
    title="Terms",
    page=3,
    boxes=[{"page": 3, "x0": 72, "y0": 100, "x1": 523, "y1": 130}],
    quote="The waiting period is 90 days. 等待期为九十天。",
    section=[],
    language="en",
)


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
    cited = [QUOTED] if expect.intent in ("lab_report", "document_question") else []
    written = Reply(language=scenario.language, facts=facts, ticket=ticket, citations=cited)
    return RENDER(expect.intent, written)


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
