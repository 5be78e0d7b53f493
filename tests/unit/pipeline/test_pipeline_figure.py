"""A question that names a row and nothing else gets that row, and is asked back whose it is."""

from datetime import date
from itertools import count
from typing import Any

import pytest

from apps.pipeline.lookup import Chosen, Lookup, chosen
from apps.retrieval.search import Passage

LEAST = 0.3
NUMBERS = count(1)


def passage(document: str, title: str, text: str, score: float = 0.2, **more: Any) -> Passage:
    language = "zh" if document.endswith("zh") else "en"
    fields: dict[str, Any] = {
        "chunk": next(NUMBERS),
        "score": score,
        "text": text,
        "kind": "table_row",
        "document": document,
        "title": title,
        "department": "financial",
        "reported_on": date(2025, 12, 31),
        "language": language,
        "section": [],
        "boxes": [{"page": 3, "x0": 1, "y0": 1, "x1": 2, "y1": 2}],
        "confidence": 1.0,
        "own": False,
    }
    return Passage(**{**fields, **more})


def report(name: str, title: str, *labels: str, **more: Any) -> list[Passage]:
    return [passage(name, title, f"项目 | 2025\n{label} | 1,234.50", **more) for label in labels]


ANHE = report(
    "anhe.zh", "安和健康保险股份有限公司2025年度报告", "资产总计", "净利润", "营业收入合计"
)
BEICHEN = report("beichen.zh", "北辰健康保险股份有限公司2025年度报告", "资产总计", "净利润")
ALDER = report("alder.en", "Alder Health Insurance plc Annual Report 2025", "Total assets", "Cash")
BEACON = report("beacon.en", "Beacon Health Insurance plc Annual Report 2025", "Total assets")
PROSE = passage("alder.en", ALDER[0].title, "What Alder owned.", 0.4, kind="text")
EVERY = [PROSE, *ALDER, *ANHE, *BEACON, *BEICHEN]


def ask(question: str, language: str, found: list[Passage] = EVERY) -> Chosen:
    return chosen(Lookup(question, least=LEAST), language, found)


@pytest.mark.parametrize(
    ("question", "language", "first"),
    [
        ("资产总计是多少？", "zh", ["anhe.zh", "beichen.zh", "alder.en"]),
        ("总资产", "zh", ["anhe.zh", "beichen.zh", "alder.en"]),
        ("你们公司去年的资产总额有多少？", "zh", ["anhe.zh", "beichen.zh", "alder.en"]),
        ("What are the total assets?", "en", ["alder.en", "beacon.en", "anhe.zh"]),
        ("total assets 2025", "en", ["alder.en", "beacon.en", "anhe.zh"]),
        ("健康保险的净利润", "zh", ["anhe.zh", "beichen.zh"]),
        ("Health Insurance total assets", "en", ["alder.en", "beacon.en"]),
    ],
)
def test_a_row_of_several_documents_is_shown_of_each_in_the_askers_language_first(
    question: str, language: str, first: list[str]
) -> None:
    answer = ask(question, language)
    assert answer.several
    assert [one.document for one in answer.passages] == first
    assert {one.kind for one in answer.passages} == {"table_row"}


@pytest.mark.parametrize(
    ("question", "language", "row"),
    [
        ("安和健康保险的资产总计是多少？", "zh", ANHE[0]),
        ("安和总资产", "zh", ANHE[0]),
        ("请问北辰去年净利润多少", "zh", BEICHEN[1]),
        ("What are Alder's total assets?", "en", ALDER[0]),
        ("What are the total assets of 安和?", "en", ANHE[0]),
        ("Beacon的总资产是多少", "zh", BEACON[0]),
    ],
)
def test_a_company_that_is_named_is_the_one_that_is_meant(
    question: str, language: str, row: Passage
) -> None:
    answer = ask(question, language)
    assert not answer.several
    assert answer.passages[0] == row


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("资产总计为什么下降了？", "zh"),
        ("Why did total assets fall?", "en"),
        ("Northwind total assets", "en"),
        ("长青的资产总计", "zh"),
        ("营业收入", "zh"),
        ("cashback", "en"),
        ("What does the contract say?", "en"),
        ("资产总计 " * 100, "zh"),
    ],
)
def test_whoever_asks_for_more_than_a_row_gets_what_is_near(question: str, language: str) -> None:
    assert ask(question, language) == Chosen([PROSE])


def test_the_customers_own_document_goes_before_all_others() -> None:
    own = report("mine.zh", "我的资产负债表", "资产总计", own=True)
    assert ask("资产总计是多少", "zh", [*EVERY, *own]) == Chosen([own[0], PROSE])


def test_of_two_years_reports_the_year_tells_and_without_it_both_are_shown() -> None:
    old = report("alder-2024.en", "Alder Health Insurance plc Annual Report 2024", "Total assets")
    found = [*ALDER, *old]
    both = ask("Alder total assets", "en", found)
    assert (both.several, both.passages) == (True, [ALDER[0], old[0]])
    assert ask("Alder total assets 2024", "en", found).passages[0] == old[0]


def test_a_label_that_is_too_short_names_no_row() -> None:
    found = report("anhe.zh", "安和", "合计") + report("alder.en", "Alder", "All")
    assert ask("合计", "zh", found) == ask("all", "en", found) == Chosen([])
