"""What to look for in the documents, and which of what was found to cite. Pure."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.pipeline.figure import rows
from apps.pipeline.intents.features import simplified
from apps.retrieval.records import Facts
from apps.retrieval.search import Passage
from apps.retrieval.spelling import mended

MEDICAL = "medical"
MAX_ANALYTES = 3
MAX_CITED = 3
# A cosine of centred vectors. Every answer to the questions that are for choosing had 0.305 or
# more; of 30 questions about other things, 28 had nothing above 0.30.
LEAST_SCORE = 0.3
# Of 287 sentences of small talk, four had a passage with this score; of the questions that are for
# choosing, four in five.
SURE_SCORE = 0.45
# Small talk that the intent model is less sure of may be a question about documents.
SURE_INTENT = 0.6
# As many as may have the row that is asked for without saying of which company.
WIDE = 100


@dataclass(frozen=True, slots=True)
class Lookup:
    """One search: what to look for, the departments to search (all if none), how many passages
    to find, how many of them to cite, and the score that they must have."""

    text: str
    departments: tuple[str, ...] = ()
    find: int = WIDE
    cite: int = MAX_CITED
    least: float = LEAST_SCORE


@dataclass(frozen=True, slots=True)
class Chosen:
    """The passages to cite; `several` says that they are one row of several documents, and that
    the question does not say of which."""

    passages: list[Passage]
    several: bool = False


def lookups(intent: str, text: str, records: Facts, language: str) -> list[Lookup]:
    """The searches that a message needs; `text` is what the customer wrote.

    A question about documents is searched for as it is, but for its slips. For a laboratory
    report, what is out of range is looked up in the medical documents, a value each.
    """
    if intent == "document_question":
        return [Lookup(question(text, language))]
    if intent == "other":
        return [Lookup(question(text, language), least=SURE_SCORE)]
    if intent == "lab_report" and records.report is not None:
        outside = [result for result in records.report.results if result.flag != "normal"]
        return [
            Lookup(_meaning(one.label(language), one.flag, language), (MEDICAL,), find=1, cite=1)
            for one in outside[:MAX_ANALYTES]
        ]
    return []


def is_about_documents(intent: str, confidence: float, text: str) -> bool:
    """Whether the documents may answer a message of this intent: small talk, too, if the intent
    model is not sure of it and it is a question."""
    if intent == "other":
        return confidence < SURE_INTENT and text.rstrip("”\"' ").endswith(("?", "？"))
    return intent == "document_question"


def question(text: str, language: str) -> str:
    """`text` with full-width forms, traditional characters and slips as the documents have them."""
    return mended(simplified(unicodedata.normalize("NFKC", text)), language)


def chosen(lookup: Lookup, language: str, found: Sequence[Passage]) -> Chosen:
    """What to cite of what was `found`, the best first: the row that is asked for, whatever its
    score; then what has the score that it must have."""
    asked_for = rows(lookup.text, language, found)
    best = {one.document: one for one in reversed(asked_for)}
    if len(best) > 1:
        firsts = [one for one in asked_for if best[one.document] is one]
        return Chosen(firsts[: lookup.cite], several=True)
    near = [one for one in found[: lookup.cite] if one.score >= lookup.least]
    return Chosen(once([*asked_for, *near])[: lookup.cite])


def once(passages: Iterable[Passage]) -> list[Passage]:
    """Each passage once, in the order they came."""
    return list({one.chunk: one for one in passages}.values())


def _meaning(label: str, flag: str, language: str) -> str:
    if language == "zh":
        return f"{label}{'偏高' if flag == 'high' else '偏低'}是什么意思"
    return f"What does a {'high' if flag == 'high' else 'low'} {label} mean?"
