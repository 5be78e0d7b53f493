"""Facts that stand in one place of one report, and the questions that ask for them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from apps.loader.samples.report import Report

WRITTEN = Path(__file__).with_name("written.tsv")
_AND = " … "

Language = Literal["zh", "en"]


@dataclass(frozen=True)
class Fact:
    """A passage of report `document` that contains all `parts` answers `zh` and `en`; "" is no
    question: another report answers it in that language, too."""

    document: str
    parts: tuple[str, ...]
    zh: str
    en: str

    @property
    def language(self) -> Language:
        """The passage's."""
        return "zh" if self.document.endswith(".zh") else "en"


@dataclass(frozen=True)
class Question:
    """`split` is "choose" (for choosing settings) or "report" (what figures are reported of).

    `document` is the report's name; `parts` all stand in a passage that answers.
    """

    split: Literal["choose", "report"]
    language: Language
    passage_language: Language
    text: str
    document: str
    parts: tuple[str, ...]

    @property
    def direction(self) -> str:
        """`zh→en` is a Chinese question for an English passage."""
        return f"{self.language}→{self.passage_language}"

    def is_answered_by(self, document: str, passage: str) -> bool:
        """Whether `passage` of the file `document` is the one; line breaks count as spaces."""
        text = " ".join(passage.split())
        return document.removesuffix(".pdf") == self.document and all(
            part in text for part in self.parts
        )


def written() -> list[Fact]:
    """Those that were written down. Errors: ValueError that names the line."""
    facts = []
    for number, line in enumerate(WRITTEN.read_text("utf-8").splitlines(), start=1):
        fields = line.split("\t")
        if line.startswith("#"):
            continue
        if len(fields) != 4 or not (fields[2] or fields[3]):
            raise ValueError(f"{WRITTEN.name}:{number}: want DOCUMENT, PARTS, ZH, EN, by tabs")
        facts.append(Fact(fields[0], tuple(fields[1].split(_AND)), fields[2], fields[3]))
    return facts


def questions(facts: Sequence[Fact]) -> list[Question]:
    """Every question; of each language's facts every other one is for choosing."""
    found = []
    for language in ("zh", "en"):
        # Those asked in both languages first, so that each direction is split in halves.
        mine = sorted(
            (fact for fact in facts if fact.language == language),
            key=lambda fact: not (fact.zh and fact.en),
        )
        for number, fact in enumerate(mine):
            split: Literal["choose", "report"] = "report" if number % 2 else "choose"
            asked: tuple[tuple[Language, str], ...] = (("zh", fact.zh), ("en", fact.en))
            found += [
                Question(split, asker, fact.language, text, fact.document, fact.parts)
                for asker, text in asked
                if text
            ]
    return found


def places(fact: Fact, report: Report) -> int:
    """How many paragraphs and table rows of `report` have all the fact's parts."""
    texts = []
    for section in report.sections:
        for part in section.parts:
            if isinstance(part, str):
                texts.append(part)
            else:
                texts += [" ".join(row) for row in part.rows]
    return sum(all(part in text for part in fact.parts) for text in texts)
