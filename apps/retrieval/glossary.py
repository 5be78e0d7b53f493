"""A question in both languages, as far as a glossary of the insurer's terms goes.

The embedding model finds a passage in another language by its topic, but not the right one of
twenty rows of figures; with its terms translated beside it, a question does. Text search finds
nothing at all in another language without them.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

TERMS = Path(__file__).with_name("glossary.tsv")
MAX_TERMS = 8


class Glossary:
    """Terms of one language and what each is in the other."""

    def __init__(self, translations: dict[str, str], whole_words: bool) -> None:
        self._translations = translations
        # A longer term is tried before the shorter one in it.
        terms = sorted(map(re.escape, translations), key=len, reverse=True)
        edge = r"\b" if whole_words else ""
        self._found = re.compile(f"{edge}(?:{'|'.join(terms)}){edge}")

    def pairs(self, text: str) -> list[tuple[str, str]]:
        """(term, its translation) of the terms in `text`, in their order there."""
        return [(term, self._translations[term]) for term in self._found.findall(text.lower())]

    def translations(self, text: str) -> list[str]:
        """The translations of the terms in `text`, in their order there, each once; at most
        `MAX_TERMS`."""
        return list(dict.fromkeys(other for _, other in self.pairs(text)))[:MAX_TERMS]

    def terms(self) -> list[str]:
        """All of them, in lower case."""
        return list(self._translations)

    def translation(self, term: str) -> str:
        """What `term` itself is, in lower case; "" if it is none."""
        return self._translations.get(term.lower(), "").lower()


def bilingual(text: str, language: str) -> str:
    """`text` (`language` is `zh` or `en`) and, after it, its terms in the other language."""
    return " ".join([text, *glossary(language).translations(text)])


def parse(lines: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """[(Chinese terms, English terms)], the first of each the usual one. Errors: ValueError."""
    entries = []
    for number, line in enumerate(lines, start=1):
        if line.startswith("#"):
            continue
        sides = [side.split("|") for side in line.split("\t")]
        if len(sides) != 2 or not all(term.strip() for side in sides for term in side):
            raise ValueError(f"{TERMS.name}:{number}: want CHINESE|…<tab>ENGLISH|…")
        entries.append((sides[0], sides[1]))
    return entries


@cache
def glossary(language: str) -> Glossary:
    """The terms of a language (`zh` or `en`)."""
    translations: dict[str, str] = {}
    for zh, en in parse(TERMS.read_text("utf-8").splitlines()):
        own, other = (zh, en) if language == "zh" else (en, zh)
        translations |= {term.lower(): other[0] for term in own}
    return Glossary(translations, whole_words=language == "en")
