"""A question that names a row of a table and nothing else: "What are the total assets?". Pure.

Such a question is far from every passage by the vector, because a passage is mostly about its
company. But it says exactly which row is wanted, and it may not say whose.
"""

import re
from collections.abc import Iterator, Sequence

from apps.pipeline.text import normalise
from apps.retrieval.glossary import glossary
from apps.retrieval.search import Passage

_HAN = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
_PART = re.compile("[\u3400-\u9fff\uf900-\ufaff]+|[a-z]+|[0-9]+")
# What is said around the name of a figure.
_AROUND_ZH = re.compile(
    "请问|我?想知道|告诉我|查一下|是多少|有多少|多少|是什么|怎么样|[去今前上]年|全年|年度|年报|报告"
    "|[你我]们|[年的里中呢吗有是在为]"
)
_AROUND_EN = re.compile(
    "a|amount|an|and|annual|are|as|can|company|did|do|does|figure|for|give|had|has|have|how|i|in|is"
    "|it|its|last|made|make|many|me|much|now|of|our|please|report|s|show|tell|that|the|their|this|to"
    "|value|was|were|what|whats|year|you|your|[0-9]+"
)
_SHORTEST_HAN, _SHORTEST = 3, 4
MAX_CHARS = 200
"""Whoever writes more asks for more than a row."""


def rows(question: str, language: str, passages: Sequence[Passage]) -> list[Passage]:
    """Those of `passages` that are the row asked for, those in the question's language first.

    Only of the documents that the question names, if it names any; only the customer's own, if
    some are. None if the question asks for more than a row.
    """
    asked = normalise(question)
    if len(asked) > MAX_CHARS:
        return []
    found = [(one, _spoken(one, asked, language)) for one in passages if one.kind == "table_row"]
    said = {spoken for _, each in found for spoken in each}
    # A row whose name is part of another's is not the one that was asked for.
    said = {one for one in said if not any(one != other and one in other for other in said)}
    wanted = [one for one, each in found if said & each]
    rest = asked.replace("公司", " ")
    for spoken in sorted(said, key=len, reverse=True):
        rest = rest.replace(spoken, " ")
    titles = {one.title: normalise(one.title) for one in wanted}
    named = _names(rest, list(titles.values()))
    if named is None:
        return []
    wanted = [one for one in wanted if titles[one.title] in named]
    wanted = [one for one in wanted if one.own] or wanted
    return sorted(wanted, key=lambda one: one.language != language)


def _spoken(row: Passage, asked: str, language: str) -> set[str]:
    """The words of the question that name `row`, in either language."""
    label = normalise(row.text.rpartition("\n")[2].partition(" | ")[0])
    if len(label) < (_SHORTEST_HAN if _HAN.search(label) else _SHORTEST):
        return set()
    forms = {label, glossary(row.language).translation(label)}
    spoken = {
        term for term, other in glossary(language).pairs(asked) if {term, other.lower()} & forms
    }
    edge = "" if _HAN.search(label) else r"\b"
    return spoken | ({label} if re.search(f"{edge}{re.escape(label)}{edge}", asked) else set())


def _names(rest: str, titles: Sequence[str]) -> set[str] | None:
    """The titles of which `rest` names most, all if it names none; None if it says something
    else, too."""
    named = dict.fromkeys(titles, 0.0)
    for part in _PART.findall(rest):
        left = ""
        for piece in _pieces(part, titles):
            have = [title for title in titles if _has(title, piece)]
            for title in have:
                named[title] += 1 / len(have)
            left += "" if have else piece
        if _HAN.match(part):
            left = _AROUND_ZH.sub("", left)
        if left and not _AROUND_EN.fullmatch(left):
            return None
    most = max(named.values(), default=0.0)
    return {title for title, count in named.items() if count == most}


def _pieces(part: str, titles: Sequence[str]) -> Iterator[str]:
    """A word; of Chinese, the longest pieces that a title has, and single characters."""
    if not _HAN.match(part):
        yield part
        return
    begin = 0
    while begin < len(part):
        end = len(part)
        while end > begin + 1 and not any(part[begin:end] in title for title in titles):
            end -= 1
        yield part[begin:end]
        begin = end


def _has(title: str, piece: str) -> bool:
    if _HAN.match(piece):
        return len(piece) > 1 and piece in title
    return re.search(rf"(?<![a-z0-9]){piece}(?![a-z0-9])", title) is not None
