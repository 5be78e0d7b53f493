"""The question set asks for what stands in exactly one place of the sample reports."""

from collections import Counter

import pytest

from apps.loader.samples.library import library
from tests.bench.questions.all import all_questions
from tests.bench.questions.annual import facts
from tests.bench.questions.question import Fact, places, written

REPORTS = {report.name: report for report in library()}
ANNUAL = [report for report in library() if report.name.startswith("annual-")]
FACTS = written() + [fact for at, report in enumerate(ANNUAL) for fact in facts(report, at)]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: f"{fact.document}:{fact.parts[-1]}")
def test_a_fact_stands_in_one_place_of_its_report(fact: Fact) -> None:
    assert places(fact, REPORTS[fact.document]) == 1


def test_every_direction_has_a_hundred_questions_that_settings_are_not_chosen_on() -> None:
    found = Counter((question.direction, question.split) for question in all_questions())
    assert {direction for direction, _ in found} == {"zh→zh", "zh→en", "en→zh", "en→en"}
    assert min(found.values()) >= 100


def test_no_question_is_asked_twice() -> None:
    texts = Counter(question.text for question in all_questions())
    assert [text for text, times in texts.items() if times > 1] == []


def test_a_fact_is_of_one_half_in_both_languages() -> None:
    halves: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for question in all_questions():
        halves.setdefault((question.document, question.parts), set()).add(question.split)
    assert all(len(splits) == 1 for splits in halves.values())
