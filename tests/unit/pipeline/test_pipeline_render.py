"""Templates say the facts, all of them true, in both languages, and no other number."""

import re
from pathlib import Path

import pytest

from apps.pipeline.analytes import about
from apps.pipeline.intents import INTENTS
from apps.pipeline.prompt import prompt_for
from apps.pipeline.render import TEMPLATES, Renderer
from apps.pipeline.reply import Fact, Reply

RENDER = Renderer()


def account(balance: str = "8250.00", left: str = "300.00") -> list[Fact]:
    return [
        Fact("balance", "balance", balance, "CNY"),
        Fact("used_this_year", "used this year", "11750.00", "CNY"),
        Fact("annual_limit", "annual limit", "20000.00", "CNY"),
        Fact("deductible", "deductible", "1500.00", "CNY"),
        Fact("deductible_left", "deductible left", left, "CNY"),
        Fact("as_of", "as of", "2026-11-01"),
        Fact("plan", "plan", "Standard Health"),
    ]


def report(*flags: str) -> list[Fact]:
    values = [
        Fact("glucose", "glucose", "6.8", "mmol/L", "3.9–6.1"),
        Fact("hdl", "HDL", "0.9", "mmol/L", "≥ 1.0"),
        Fact("xyz", "unknown one", "7.77", "U/L", ""),
    ]
    flagged = [
        Fact(**{**fact.__dict__, "flag": flag}) for fact, flag in zip(values, flags, strict=False)
    ]
    return [*flagged, Fact("reported_on", "date", "2026-10-20"), Fact("laboratory", "lab", "Lab")]


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:[.-]\d+)*", text))


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize(
    ("intent", "facts"),
    [
        ("insurance_balance", account()),
        ("insurance_balance", account(balance="0.00", left="0.00")),
        ("lab_report", report("high", "low", "normal")),
        ("lab_report", report("normal", "normal", "normal")),
        ("lab_report", report("high", "low")),
    ],
)
def test_every_number_in_a_text_is_a_number_of_its_facts(
    language: str, intent: str, facts: list[Fact]
) -> None:
    text = RENDER(intent, Reply(intent=intent, language=language, facts=facts))
    known = numbers(" ".join(f"{fact.value} {fact.reference}" for fact in facts))
    assert numbers(text)
    assert numbers(text) <= known
    assert "  " not in text.replace("\n  ", "")
    assert text == text.strip()


@pytest.mark.parametrize("language", ["zh", "en"])
def test_each_value_out_of_range_has_a_line_of_its_own(language: str) -> None:
    reply = Reply(language=language, facts=report("high", "low", "normal"))
    lines = RENDER("lab_report", reply).splitlines()
    glucose, hdl = [line for line in lines if line.startswith("- ")]
    assert all(word in glucose for word in ("6.8 mmol/L", "3.9–6.1"))
    assert all(word in hdl for word in ("0.9 mmol/L", "≥ 1.0"))
    above, below = ("高于", "低于") if language == "zh" else ("above", "below")
    assert above in glucose
    assert below in hdl
    assert any("7.77 U/L" in line for line in lines)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_an_unknown_analyte_out_of_range_is_shown_without_an_explanation(language: str) -> None:
    facts = [Fact("xyz", "unknown one", "7.77", "U/L", "≤ 1", "high"), *report()]
    text = RENDER("lab_report", Reply(language=language, facts=facts))
    assert "7.77 U/L" in text
    assert about(facts[0], language) == ""


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("intent", INTENTS)
def test_every_intent_has_a_text_without_facts(language: str, intent: str) -> None:
    reply = Reply(intent=intent, language=language, ticket={"id": "T-000001", "created": True})
    for name in (intent, "degraded"):
        text = RENDER(name, reply)
        assert len(text) > 10
        assert bool(re.search("[\u4e00-\u9fff]", text)) == (language == "zh")


def test_a_repeated_complaint_is_called_already_registered() -> None:
    for language, word in (("en", "already"), ("zh", "之前")):
        reply = Reply(language=language, ticket={"id": "T-000001", "created": False})
        assert word in RENDER("complaint", reply)


def test_customers_values_are_never_templates() -> None:
    facts = account()
    facts[-1] = Fact("plan", "plan", "{{ 7 * 7 }}<b>")
    text = RENDER("insurance_balance", Reply(language="en", facts=facts))
    assert "{{ 7 * 7 }}<b>" in text


def test_both_languages_have_the_same_templates() -> None:
    names = {path.name for path in Path(TEMPLATES).glob("*.j2")}
    assert {name.replace(".en.", ".zh.") for name in names if ".en." in name} == {
        name for name in names if ".zh." in name
    }


def test_a_prompt_names_the_value_out_of_range_and_stays_short() -> None:
    prompt = prompt_for("lab_report", report("normal", "low", "high"))
    assert "My HDL is 0.9 mmol/L (low)." in prompt
    assert "6.8" not in prompt
    assert len(prompt.split()) < 60
    assert "8250.00 CNY" in prompt_for("insurance_balance", account())


def test_a_prompt_of_a_healthy_report_names_its_first_value() -> None:
    assert "My glucose is 6.8 mmol/L (normal)." in prompt_for("lab_report", report("normal"))
