"""The whole set, over the sample reports."""

from apps.loader.samples.library import library
from tests.bench.questions.annual import facts
from tests.bench.questions.question import Question, questions, written


def all_questions() -> list[Question]:
    """The same at each call."""
    annual = [report for report in library() if report.name.startswith("annual-")]
    asked = [fact for number, report in enumerate(annual) for fact in facts(report, number)]
    return questions([*written(), *asked])
