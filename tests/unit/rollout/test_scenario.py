"""Reading scenarios: what is accepted, and the one line each mistake gets."""

from pathlib import Path

import pytest

from rollout.scenario import BadScenario, Limits, load

SCENARIOS = Path(__file__).parents[3] / "rollout" / "scenarios"
GOOD = """\
name: lab_report.en
language: en
customer: s-en
runs: 20
turns:
  - query: "What do my blood results mean?"
    expect:
      intent: lab_report
      facts: {hemoglobin: 14.1, glucose: "5.4"}
      reply_matches: ["14\\\\.1"]
"""


def test_a_good_scenario_is_read_with_its_defaults() -> None:
    scenario = load(GOOD)
    assert scenario.limits == Limits(0.95, 1200, 1200)
    (turn,) = scenario.turns
    assert turn.expect.facts == (("hemoglobin", "14.1"), ("glucose", "5.4"))
    assert turn.expect.status == "ok"
    assert turn.expect.ticket == "none"
    assert turn.expect.reply_matches[0].found_in("it is 14.1 g/dL")


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("runs: 20", "runs: 19", "line 4: runs: 19 is outside 20 to 1000"),
        ("runs: 20", "runs: many", "line 4: runs: write a number here"),
        ("runs: 20", "runs: 20.5", "line 4: runs: write a whole number"),
        ("runs: 20", "runs: .nan", "line 4: runs: '.nan' is not a plain decimal number"),
        ("runs: 20", "runs: 20\nruns: 30", "line 5: runs: the field stands here twice; remove one"),
        ("runs: 20", "runs: 20\nsuccess: 0.5", "line 5: success: 0.5 is outside 0.95 to 1"),
        ("runs: 20", "rums: 20", "line 4: rums: unknown field"),
        ("runs: 20\n", "", "the field 'runs' is missing; add it"),
        ("language: en", "language: de", "line 2: language: 'de' is not known; use one of zh, en"),
        ("customer: s-en", "customer: c-1001", "customer: 'c-1001' is not known"),
        ("name: lab_report.en", "name: ../x", "line 1: name: use small letters"),
        (
            "intent: lab_report",
            "intent: joke",
            "line 8: turns[0].expect.intent: 'joke' is not known",
        ),
        (
            "intent: lab_report",
            "intent: lab_report\n      ticket: same",
            "needs a turn with a ticket",
        ),
        (
            '["14\\\\.1"]',
            '["("]',
            "line 10: turns[0].expect.reply_matches[0]: '(' is not a regular",
        ),
        (
            '["14\\\\.1"]',
            '["(?=1)"]',
            "reply_matches[0]: '(?=1)' is not a regular expression of RE2",
        ),
        ('["14\\\\.1"]', f'["{"x" * 501}"]', "has 501 characters; give 1 to 500"),
        ("runs: 20", "runs: 1001", "line 4: runs: 1001 is outside 20 to 1000"),
        ('["14\\\\.1"]', "[]", "has 0 items; give 1 to 20"),
        ("    expect:", "    retry: true\n    expect:", "the first turn has nothing to retry"),
        ("name: lab_report.en", "name: [a", "mend the YAML"),
        ("name: lab_report.en", "name: &a x\nlanguage: *a", "line 2: aliases are refused"),
        ("name: lab_report.en", "? [a, b]\n: x", "write a text here"),
        ("name: lab_report.en", "name: !!python/object:os.system x", "write a text here"),
    ],
)
def test_each_mistake_has_one_line_with_its_place(old: str, new: str, wrong: str) -> None:
    assert old in GOOD
    with pytest.raises(BadScenario) as error:
        load(GOOD.replace(old, new, 1))
    assert wrong in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "[]", "just words", "a: 1\n---\nb: 2", "\t", "x" * 33_000])
def test_what_is_no_scenario_at_all_is_refused(text: str) -> None:
    with pytest.raises(BadScenario):
        load(text)


def test_deep_nesting_is_refused_without_a_crash() -> None:
    with pytest.raises(BadScenario):
        load("[" * 100_000)


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.name)
def test_each_committed_scenario_is_readable_under_its_own_name(path: Path) -> None:
    scenario = load(path.read_text())
    assert f"{scenario.name}.yaml" == path.name
    assert scenario.name.endswith(f".{scenario.language}")
    assert scenario.customer == f"s-{scenario.language}"
    assert scenario.limits == Limits()


def test_the_three_business_scenarios_exist_in_both_languages() -> None:
    names = {load(path.read_text()).name for path in SCENARIOS.glob("*.yaml")}
    for intent in ("complaint", "insurance_balance", "lab_report"):
        assert {f"{intent}.zh", f"{intent}.en"} <= names
