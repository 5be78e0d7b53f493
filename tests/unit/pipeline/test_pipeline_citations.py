"""What is looked for in the documents, what is cited of it, and how a citation reads."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from apps.pipeline.citation import MAX_QUOTE_CHARS, citation, shortened
from apps.pipeline.lookup import (
    LEAST_SCORE,
    MAX_CITED,
    WIDE,
    Chosen,
    Lookup,
    chosen,
    is_about_documents,
    lookups,
    once,
)
from apps.retrieval.records import Customer, Facts, LabReport, LabResult
from apps.retrieval.search import Passage

EMMA = Customer("c-1002", "Emma", "en")


def result(analyte: str, label: str, flag: str) -> LabResult:
    return LabResult(analyte, label, label, "g/L", Decimal(1), None, None, flag)


def passage(**more: Any) -> Passage:
    fields: dict[str, Any] = {
        "chunk": 1,
        "score": 0.51234,
        "text": "Total assets\n 1,234.50",
        "kind": "table_row",
        "document": "annual.pdf",
        "title": "Annual Report",
        "department": "financial",
        "reported_on": date(2025, 12, 31),
        "language": "en",
        "section": ["Balance sheet"],
        "boxes": [
            {"page": 3, "x0": 72.4, "y0": 99.6, "x1": 523.0, "y1": 130.2},
            {"page": 4, "x0": 72.4, "y0": 50.0, "x1": 523.0, "y1": 60.0},
        ],
        "confidence": 1.0,
        "own": False,
    }
    return Passage(**{**fields, **more})


def test_a_document_question_is_looked_up_as_it_was_written() -> None:
    assert lookups("document_question", "Was steht in §5?", Facts(EMMA), "en") == [
        Lookup("Was steht in §5?", find=WIDE, cite=MAX_CITED)
    ]


@pytest.mark.parametrize(
    ("written", "language", "looked_up"),
    [
        ("２０２５年净利润", "zh", "2025年净利润"),
        ("總資產是多少", "zh", "总资产是多少"),
        ("Ｔｏｔａｌ assets", "en", "Total assets"),
        ("净利闰是多少", "zh", "净利润是多少"),
        ("What are the totl assets?", "en", "What are the total assets?"),
    ],
)
def test_other_forms_and_slips_are_looked_up_as_the_documents_have_them(
    written: str, language: str, looked_up: str
) -> None:
    (lookup,) = lookups("document_question", written, Facts(EMMA), language)
    assert lookup.text == looked_up


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("en", ["What does a high LDL mean?", "What does a low HDL mean?"]),
        ("zh", ["LDL偏高是什么意思", "HDL偏低是什么意思"]),
    ],
)
def test_what_is_out_of_range_is_looked_up_in_the_medical_documents(
    language: str, texts: list[str]
) -> None:
    results = [result("ldl", "LDL", "high"), result("alt", "ALT", "normal")]
    results += [result("hdl", "HDL", "low")]
    records = Facts(EMMA, report=LabReport("Lab", date(2026, 1, 1), tuple(results)))
    found = lookups("lab_report", "explain", records, language)
    assert found == [Lookup(text, ("medical",), find=1, cite=1) for text in texts]


@pytest.mark.parametrize("intent", ["insurance_balance", "lab_report", "complaint"])
def test_without_a_report_nothing_is_looked_up(intent: str) -> None:
    assert lookups(intent, "explain", Facts(EMMA), "en") == []


def test_a_passage_found_twice_is_cited_once() -> None:
    assert [one.chunk for one in once([passage(chunk=1), passage(chunk=2), passage(chunk=1)])] == [
        *(1, 2)
    ]


def test_a_far_passage_is_not_cited_and_of_the_near_ones_the_first() -> None:
    lookup = Lookup("What does the contract say about dogs?", cite=2, least=0.25)
    scores = (0.3, 0.24, 0.9, float("nan"))
    found = [passage(chunk=at, score=score) for at, score in enumerate(scores)]
    assert chosen(lookup, "en", found) == Chosen([found[0]])
    assert chosen(lookup, "en", found[3:]) == Chosen([])


@pytest.mark.parametrize(
    ("intent", "confidence", "text", "searched"),
    [
        ("other", 0.5, "is a newborn insured?", True),
        ("other", 0.5, "新生儿有保障吗？", True),
        ("other", 0.5, "hello", False),
        ("other", 0.9, "how are you?", False),
        ("document_question", 0.4, "合同", True),
        ("insurance_balance", 0.4, "how much?", False),
        ("complaint", 0.4, "why?", False),
    ],
)
def test_small_talk_is_searched_for_if_it_may_be_a_question(
    intent: str, confidence: float, text: str, searched: bool
) -> None:
    assert is_about_documents(intent, confidence, text) == searched
    (lookup,) = lookups("other", text, Facts(EMMA), "en")
    assert lookup.least > LEAST_SCORE


def test_a_citation_says_document_page_and_place() -> None:
    cited = citation(passage())
    assert (cited.title, cited.page, cited.place) == ("Annual Report", 3, "72,100–523,130")
    assert cited.quote == "Total assets 1,234.50"
    assert (cited.date, cited.score, len(cited.boxes)) == ("2025-12-31", 0.512, 2)


@pytest.mark.parametrize(
    "text",
    [
        "word " * 200,
        "资产总计为一千二百万元。" * 60,
        "1,234,567.00 " * 60,
        "x" * 1000,
        "余额" * 150 + "1234567890.55" * 3,
    ],
)
def test_a_quote_is_cut_between_words_and_never_inside_a_number(text: str) -> None:
    short = shortened(text)
    assert len(short) <= MAX_QUOTE_CHARS
    assert short.endswith("…")
    kept = short[:-1]
    line = " ".join(text.split())
    assert line.startswith(kept)
    if len(kept) > MAX_QUOTE_CHARS // 2 + 1:
        assert not (kept[-1].isdigit() and line[len(kept)] in "0123456789.,")


def test_a_short_quote_stays_whole() -> None:
    assert shortened("a\n b") == "a b"
