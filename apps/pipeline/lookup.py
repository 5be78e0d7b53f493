"""What to look for in the documents, and which of what was found to cite. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from apps.retrieval.records import Facts
from apps.retrieval.search import Passage

MEDICAL = "medical"
MAX_ANALYTES = 3
MAX_CITED = 3


@dataclass(frozen=True, slots=True)
class Lookup:
    """One search: the text to embed, the departments to search (all if none), how many to cite."""

    text: str
    departments: tuple[str, ...] = ()
    limit: int = MAX_CITED


def lookups(intent: str, text: str, records: Facts, language: str) -> list[Lookup]:
    """The searches that a message needs; `text` is what the customer wrote.

    A question about documents is searched for as it is. For a laboratory report, what is out of
    range is looked up in the medical documents, a value each.
    """
    if intent == "document_question":
        return [Lookup(text)]
    if intent == "lab_report" and records.report is not None:
        outside = [result for result in records.report.results if result.flag != "normal"]
        return [
            Lookup(_meaning(one.label(language), one.flag, language), (MEDICAL,), limit=1)
            for one in outside[:MAX_ANALYTES]
        ]
    return []


def worth_citing(passages: Iterable[Passage], least: float) -> list[Passage]:
    """The passages with a score of `least` or more, each once, in the order they came."""
    found = {one.chunk: one for one in passages if one.score >= least}
    return list(found.values())


def _meaning(label: str, flag: str, language: str) -> str:
    if language == "zh":
        return f"{label}{'偏高' if flag == 'high' else '偏低'}是什么意思"
    return f"What does a {'high' if flag == 'high' else 'low'} {label} mean?"
