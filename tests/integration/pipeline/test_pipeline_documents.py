"""Questions about documents are answered by passages with page and box, found by the real model
in a real database; without documents, nothing is guessed."""

from typing import Any

import pytest

from tests.integration.pipeline.passages import store, store_reports


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (
            "What is the waiting period for dental treatment in my policy document?",
            "is 90 days from the start of cover",
        ),
        ("合同里牙科的等待期怎么规定", "牙科治疗的等待期"),
        ("Quote the clause about cancellation from the contract", "cancelled in writing"),
        ("哪一条规定了救护车费用", "救护车费用每年最高"),
    ],
)
def test_a_document_question_cites_the_passage_with_page_and_box(
    pipeline: Any, postgres: Any, query: str, words: str
) -> None:
    store(postgres)
    reply = pipeline.ask(query, postgres.assertion("c-1001"))
    assert (reply["intent"], reply["status"]) == ("document_question", "ok")
    first = reply["citations"][0]
    assert words in first["quote"]
    assert first["boxes"] == [
        {"page": first["page"], "x0": 72.0, "y0": 100.0, "x1": 523.0, "y1": 130.0}
    ]
    assert first["quote"] in reply["text"]
    assert "72,100–523,130" in reply["text"]


@pytest.mark.parametrize(
    ("customer", "query"),
    [("s-en", "Please explain my lab report"), ("s-zh", "请帮我解读化验单")],
)
def test_a_lab_report_cites_what_explains_its_values(
    pipeline: Any, postgres: Any, customer: str, query: str
) -> None:
    store(postgres)
    reply = pipeline.ask(query, postgres.assertion(customer))
    assert (reply["intent"], reply["status"]) == ("lab_report", "ok")
    # Both say the same, and the nearer one is cited, whatever its language.
    ldl = ("LDL cholesterol strains the blood vessels", "低密度脂蛋白胆固醇偏高会长期增加血管负担")
    quotes = " ".join(one["quote"] for one in reply["citations"])
    assert any(words in quotes for words in ldl)
    assert all(one["page"] >= 2 and one["boxes"] for one in reply["citations"])
    assert reply["facts"]


def test_without_documents_a_question_is_not_guessed_at(pipeline: Any, postgres: Any) -> None:
    for query in ("What does clause 5 of the contract say?", "合同第五条写了什么"):
        reply = pipeline.ask(query, postgres.assertion("c-1001"))
        assert (reply["intent"], reply["status"]) == ("document_question", "ok")
        assert [one["what"] for one in reply["omitted"]] == ["documents"]
        assert reply["citations"] == []


def test_a_lab_report_without_documents_is_explained_by_its_values(
    pipeline: Any, postgres: Any
) -> None:
    reply = pipeline.ask("Please explain my lab report", postgres.assertion("s-en"))
    assert reply["status"] == "ok"
    assert "Fasting glucose: 6.8 mmol/L, above" in reply["text"]
    assert [one["what"] for one in reply["omitted"]] == ["documents"]


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("资产总计是多少？", ("安和", "北辰")),
        ("总资产是多少？", ("安和", "北辰")),
        ("去年净利闰多少？", ("安和", "北辰")),
        ("What are the total assets?", ("Alder", "Beacon")),
        ("What is the net proift?", ("Alder", "Beacon")),
    ],
)
def test_a_figure_of_nobody_in_particular_is_shown_of_several_and_asked_back_whose(
    pipeline: Any, postgres: Any, query: str, titles: tuple[str, ...]
) -> None:
    store_reports(postgres)
    reply = pipeline.ask(query, postgres.assertion("c-1001"))
    assert (reply["intent"], reply["status"]) == ("document_question", "ok")
    assert [one["what"] for one in reply["omitted"]] == ["which_document"]
    cited = [one["title"] for one in reply["citations"][:2]]
    assert all(any(title.startswith(name) for title in cited) for name in titles)
    assert all(title in reply["text"] for title in cited)
    assert reply["prompt"] is None


@pytest.mark.parametrize(
    ("query", "document", "quote"),
    [
        ("安和的资产总计是多少？", "annual-anhe.zh.pdf", "资产总计 | 1,234.50"),
        ("北辰健康保險的總資產是多少", "annual-beichen.zh.pdf", "资产总计 | 2,234.50"),
        ("北辰２０２５年赔付率", "annual-beichen.zh.pdf", "赔付率 | 2,234.50"),
        ("What is Beacon's net profit?", "annual-beacon.en.pdf", "Net profit | 4,234.50"),
        ("What are the totl liabilities of 安和?", "annual-anhe.zh.pdf", "负债合计 | 1,234.50"),
    ],
)
def test_a_figure_of_a_company_is_that_companys(
    pipeline: Any, postgres: Any, query: str, document: str, quote: str
) -> None:
    store_reports(postgres)
    reply = pipeline.ask(query, postgres.assertion("c-1001"))
    assert (reply["intent"], reply["status"]) == ("document_question", "ok")
    assert "which_document" not in [one["what"] for one in reply["omitted"]]
    first = reply["citations"][0]
    assert first["document"] == document
    assert quote in first["quote"]
