"""Chunks: within the budget, within their section, rows and numbers whole."""

import re

import pytest

from apps.loader.chunk import Chunk
from apps.loader.chunker import chunks
from apps.loader.errors import Unreadable
from apps.loader.file import Reading
from apps.loader.sentences import pieces
from tests.unit.loader.readings import heading, paragraph, reading, table

HEADER = ["Item", "2025", "2024"]
ROWS = (["Total assets", "1,234.50", "987.00"], ["Net profit", "(12.00)", ""])


def count(text: str) -> int:
    """A token a character and two special ones: the most that any tokeniser makes."""
    return len(text) + 2


def cut(source: Reading, budget: int = 240) -> list[Chunk]:
    return chunks(source, count, budget)


def test_each_row_is_a_chunk_under_its_header() -> None:
    found = cut(reading(heading("Balance"), table(HEADER, *ROWS, title="Balance sheet (m)")))
    rows = [chunk for chunk in found if chunk.kind == "table_row"]
    assert [chunk.text for chunk in rows] == [
        "Item | 2025 | 2024\nTotal assets | 1,234.50 | 987.00",
        "Item | 2025 | 2024\nNet profit | (12.00) | ",
    ]
    assert rows[0].search_text == (
        "Report Balance: Balance sheet (m) Total assets: 2025 1,234.50, 2024 987.00"
    )
    assert rows[1].search_text.endswith("Net profit: 2025 (12.00)")
    assert rows[0].metadata == {"cells": ROWS[0], "header": HEADER, "table": "Balance sheet (m)"}
    assert rows[0].section == ("Balance",)


def test_a_heading_that_announces_a_table_is_found_with_its_columns() -> None:
    found = cut(reading(heading("Balance"), table(HEADER, *ROWS, title="Balance sheet")))
    assert (found[0].kind, found[0].text) == ("heading", "Balance Balance sheet Item 2025 2024")
    assert found[0].metadata == {"announces": "table"}


def test_a_heading_before_text_is_no_chunk_of_its_own() -> None:
    found = cut(reading(heading("Claims"), paragraph("Claims are paid within five days.")))
    assert [(chunk.kind, chunk.section) for chunk in found] == [("text", ("Claims",))]


def test_no_chunk_goes_over_a_heading() -> None:
    found = cut(
        reading(
            heading("One"), paragraph("First."), heading("Two", 2), paragraph("Second."),
            heading("Three"), paragraph("Third."),
        )
    )  # fmt: skip
    assert [(chunk.text, chunk.section) for chunk in found] == [
        ("First.", ("One",)),
        ("Second.", ("One", "Two")),
        ("Third.", ("Three",)),
    ]


def test_paragraphs_are_joined_up_to_the_budget_and_cut_between_sentences() -> None:
    sentences = [f"This is sentence number {at} of the paragraph." for at in range(20)]
    found = cut(reading(paragraph(" ".join(sentences)), paragraph("A short end.")), 150)
    assert all(len(chunk.text) <= 150 for chunk in found)
    assert all(chunk.text.endswith(".") for chunk in found)
    assert len(found) < 12
    assert re.findall(r"number (\d+)", " ".join(chunk.text for chunk in found)) == [
        str(at) for at in range(20)
    ]


@pytest.mark.parametrize("limit", range(4, 40))
def test_no_number_is_cut(limit: int) -> None:
    text = "保费1,234,567.89元，赔款765,432.10元；Premium 12,345.67 and 89.10 %。"
    numbers = re.findall(r"\d[\d,.]*\d", text)
    parts = list(pieces(text, lambda part: len(part) <= max(limit, 14)))
    assert re.sub(r"\s", "", "".join(parts)) == re.sub(r"\s", "", text)
    assert [number for part in parts for number in re.findall(r"\d[\d,.]*\d", part)] == numbers


@pytest.mark.parametrize("limit", range(1, 30))
@pytest.mark.parametrize("number", ["１，２３４．５６", "(1,234.50)", "-12.5%", "1 234 567,89"])
def test_no_number_is_cut_however_it_is_written(number: str, limit: int) -> None:
    """Wide digits and commas, a sign, brackets, thousands apart."""
    text = f"保费收入{number}元，比上一年度{number}和{number}"
    parts = list(pieces(text, lambda part: len(part) <= limit))
    assert "".join(parts) == text
    assert sum(part.count(number) for part in parts) == 3


def test_many_numbers_are_cut_between_them() -> None:
    text = " ".join(str(at) for at in range(1_000, 1_400))
    parts = list(pieces(text, lambda part: len(part) <= 60))
    assert max(map(len, parts)) <= 60
    assert " ".join("".join(parts).split()) == text
    assert {number for part in parts for number in part.split()} == set(text.split())


def test_a_row_is_never_cut_however_long() -> None:
    (row,) = cut(reading(table([], ["label " * 100, "1.00"])))
    assert row.text.endswith("| 1.00")
    assert row.tokens > 240


def test_a_chunk_over_two_pages_has_a_box_on_each() -> None:
    (chunk,) = cut(reading(paragraph("It goes on over the page.", 1, 1, 2)))
    assert [box.page for box in chunk.boxes] == [1, 2]


def test_a_part_of_a_paragraph_has_the_boxes_of_its_own_lines() -> None:
    text = "The first page says so. The second one says more. The third one ends."
    made = chunks(reading(paragraph(text, 1, 2, 3)), len, budget=36)
    assert [[box.page for box in chunk.boxes] for chunk in made] == [[1, 2], [2, 3], [3]]
    assert "".join(chunk.text for chunk in made) == text.replace(". T", ".T")


def test_the_search_text_is_normalised_and_the_text_is_as_on_the_page() -> None:
    (chunk,) = cut(reading(paragraph("ﬁnal beneﬁt：１２３．４５　元")))
    assert chunk.text == "ﬁnal beneﬁt：１２３．４５　元"
    assert chunk.search_text == "Report: final benefit:123.45 元"


def test_confidence_is_the_part_of_the_text_that_is_surely_on_the_page() -> None:
    found = cut(
        reading(
            heading("A"), paragraph("all fine"), heading("B"), paragraph("bad\ufffd\ufffd\ue000"),
            heading("C"), paragraph("recognised", 2), ocr=(2,),
        )
    )  # fmt: skip
    assert [chunk.confidence for chunk in found] == [1.0, 0.5, 0.5]
    assert found[2].metadata == {"ocr": True}


@pytest.mark.parametrize(
    "name", ["附注", "7 附注", "财务报表附注", "Notes", "8 Notes to the accounts"]
)
def test_notes_are_marked(name: str) -> None:
    (chunk,) = cut(reading(heading(name), paragraph("Amounts are in millions.")))
    assert chunk.metadata == {"notes": True}


def test_other_sections_are_not_marked_as_notes() -> None:
    (chunk,) = cut(reading(heading("Noteworthy changes"), paragraph("None.")))
    assert chunk.metadata == {}


def test_what_every_row_repeats_has_an_end() -> None:
    """A head of a book's length in each of thousands of rows would fill the memory."""
    rows = [["Cash", "1.00"] for _ in range(500)]
    with pytest.raises(Unreadable, match="too large"):
        chunks(reading(table(["Item " * 10_000, "2025"], *rows)), len, most=1_000)


def test_text_without_end_is_not_given_to_the_tokeniser_whole() -> None:
    asked: list[int] = []

    def count(text: str) -> int:
        asked.append(len(text))
        return len(text)

    chunks(reading(paragraph("长" * 100_000)), count, budget=50)
    assert max(asked) < 10_000
