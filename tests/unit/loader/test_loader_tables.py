"""Labels and numbers stay rows; tables keep their header."""

from pathlib import Path

import pymupdf
import pytest

from apps.loader.blocks import Heading, Paragraph
from apps.loader.cells import is_value
from tests.unit.loader.pdfs import cells, lines, put, read_pages, tables

Grid = list[list[str]]
SHEET = [
    ["项目", "2025年", "2024年"],
    ["货币资金", "1,602.11", "1,504.45"],
    ["资产总计", "1,234,567,890.00", "987,654,321.00"],
    ["净利润", "(2,603.93)", "—"],
    ["赔付率", "12.34%", "9.80%"],
]


def draw_plain(page: pymupdf.Page, table: Grid, top: float = 200, pitch: float = 18) -> None:
    for at, row in enumerate(table):
        for column, cell in enumerate(row):
            put(page, 72 + 170 * column, top + pitch * at, cell, 9)


def draw_ruled(page: pymupdf.Page, table: Grid, top: float = 200, pitch: float = 18) -> None:
    draw_plain(page, table, top, pitch)
    for at in range(len(table)):
        for column in range(len(table[0])):
            x, y = 68 + 170 * column, top - 13 + pitch * at
            page.draw_rect((x, y, x + 170, y + pitch))


@pytest.mark.parametrize("draw", [draw_plain, draw_ruled])
def test_rows_have_all_their_cells(tmp_path: Path, draw: object) -> None:
    reading = read_pages(tmp_path, lambda page: draw(page, SHEET))  # type: ignore[operator]
    (table,) = tables(reading.blocks)
    assert table.header == SHEET[0]
    assert cells(table) == SHEET[1:]


def test_all_labels_first_and_then_all_values_still_make_rows(tmp_path: Path) -> None:
    """The order in the file is not the order on the page."""

    def draw(page: pymupdf.Page) -> None:
        for at, row in enumerate(SHEET):
            put(page, 72, 200 + 18 * at, row[0])
        for at, row in enumerate(SHEET):
            put(page, 300, 200 + 18 * at, row[1])

    (table,) = tables(read_pages(tmp_path, draw).blocks)
    assert cells(table) == [row[:2] for row in SHEET[1:]]


def test_a_number_written_before_its_chinese_label_comes_after_it(tmp_path: Path) -> None:
    def draw(page: pymupdf.Page) -> None:
        for at, (label, number) in enumerate([("资产总计", "1,234.00"), ("负债合计", "567.00")]):
            put(page, 300, 200 + 18 * at, number)
            put(page, 72, 200 + 18 * at, label)

    (table,) = tables(read_pages(tmp_path, draw).blocks)
    assert cells(table) == [["资产总计", "1,234.00"], ["负债合计", "567.00"]]
    assert table.header == []


def test_a_wrapped_label_stays_with_its_row(tmp_path: Path) -> None:
    def draw(page: pymupdf.Page) -> None:
        draw_plain(
            page, [["Item", "2025"], ["Cash", "1.00"], ["Insurance contract", "2.00"]], 200, 24
        )
        put(page, 72, 248 + 12, "liabilities", 9)
        draw_plain(page, [["Bonds", "3.00"]], 272)

    (table,) = tables(read_pages(tmp_path, draw).blocks)
    assert cells(table) == [
        ["Cash", "1.00"],
        ["Insurance contract liabilities", "2.00"],
        ["Bonds", "3.00"],
    ]


def test_a_wrapped_cell_of_a_ruled_table_is_one_row(tmp_path: Path) -> None:
    def draw(page: pymupdf.Page) -> None:
        draw_ruled(page, [["Item", "2025"], ["Insurance", "2.00"], ["Bonds", "3.00"]], 200, 40)
        put(page, 72, 252, "contracts", 9)

    (table,) = tables(read_pages(tmp_path, draw).blocks)
    assert cells(table) == [["Insurance contracts", "2.00"], ["Bonds", "3.00"]]


@pytest.mark.parametrize("repeated", [True, False])
def test_a_table_goes_on_over_the_page_under_its_header(tmp_path: Path, repeated: bool) -> None:
    more = [["投资收益", "5.00", "6.00"], ["营业收入", "7.00", "8.00"]]
    reading = read_pages(
        tmp_path,
        lambda page: draw_plain(page, SHEET, 650),
        lambda page: draw_plain(page, [SHEET[0], *more] if repeated else more, 100),
    )
    (table,) = tables(reading.blocks)
    assert table.header == SHEET[0]
    assert cells(table) == [*SHEET[1:], *more]
    assert [row.boxes[0].page for row in table.rows] == [1] * 4 + [2] * 2


def test_the_line_above_is_the_title_and_the_text_before_is_not(tmp_path: Path) -> None:
    def draw(page: pymupdf.Page) -> None:
        lines(
            page,
            ["公司在全国设有八十七家分公司，员工八千六百四十三人，服务客户超过一百万。"],
            y=120,
        )
        put(page, 72, 150, "资产负债表")
        put(page, 72, 170, "单位：百万元")
        draw_plain(page, SHEET)

    (table,) = tables(read_pages(tmp_path, draw).blocks)
    assert table.title == "资产负债表 单位：百万元"


def test_prose_in_two_columns_is_no_table_and_is_read_column_by_column(tmp_path: Path) -> None:
    left = [f"left line {at} goes on about the cover of the policy" for at in "abcd"]
    right = [f"right line {at} goes on about claims and refunds" for at in "abcd"]

    def draw(page: pymupdf.Page) -> None:
        for column, texts in enumerate((left, right)):
            for at, text in enumerate(texts):
                page.insert_text((60 + 250 * column, 200 + 13 * at), text, fontsize=9)

    reading = read_pages(tmp_path, draw)
    assert tables(reading.blocks) == []
    text = " ".join(block.text for block in reading.blocks)  # type: ignore[union-attr]
    assert text == " ".join(left + right)


@pytest.mark.parametrize(
    "text",
    ["1,234,567,890.00", "12.34%", "(2,603.93)", "-5", "¥ 1,200", "3.9–6.1", "≤ 5.2", "—"],
)
def test_values_are_known(text: str) -> None:
    assert is_value(text)


@pytest.mark.parametrize("text", ["５６７．８９", "6.4 mmol/L", "N/A", "95 %", "7～40"])
def test_values_with_units_and_wide_digits_are_known(text: str) -> None:
    assert is_value(text)


@pytest.mark.parametrize(
    "text", ["资产总计", "2025", "2025年", "2025年12月31日", "Item", "Q3 2025", ""]
)
def test_labels_and_years_are_no_values(text: str) -> None:
    assert not is_value(text)


def test_columns_whose_lines_do_not_stand_level_are_read_one_after_the_other(
    tmp_path: Path,
) -> None:
    """Above a table, as a browser sets them: the left one is longer and begins lower."""
    left = [f"left line {at} goes on about the cover of the policy" for at in "abcdef"]
    right = [f"right line {at} goes on about claims and refunds" for at in "abcd"]

    def draw(page: pymupdf.Page) -> None:
        page.insert_text((60, 170), "Quarterly figures", fontsize=18)
        for at, text in enumerate(left):
            page.insert_text((60, 206 + 13 * at), text, fontsize=9)
        for at, text in enumerate(right):
            page.insert_text((310, 200 + 13 * at), text, fontsize=9)
        draw_ruled(page, SHEET, 340)

    reading = read_pages(tmp_path, draw)
    texts = [block.text for block in reading.blocks if isinstance(block, Heading | Paragraph)]
    assert " ".join(texts) == " ".join(["Quarterly figures", *left, *right])
    (table,) = tables(reading.blocks)
    assert cells(table) == SHEET[1:]


def test_a_full_line_in_the_middle_of_a_sentence_goes_on_however_wide_it_is_set(
    tmp_path: Path,
) -> None:
    def draw(page: pymupdf.Page) -> None:
        lines(page, ["第三季度的赔款多于第二季度，因为医院比过去更早寄出账单，"], y=200)
        lines(page, ["平台也让客户更容易提交申请，处理时间缩短了一天，客户满意"], y=220)
        lines(page, ["度有所提高。"], y=240)

    (block,) = read_pages(tmp_path, draw).blocks
    assert isinstance(block, Paragraph)
    assert block.text.endswith("客户满意度有所提高。")


@pytest.mark.parametrize(
    ("above", "below", "whole"),
    [
        (["Branch 9 (bills,", "5.00"], ["late)", ""], ["Branch 9 (bills, late)", "5.00"]),
        (["分公司（账单", ""], ["迟到）", "5.00"], ["分公司（账单迟到）", "5.00"]),
        (["Insurance", "5.00"], ["liabilities", ""], ["Insurance liabilities", "5.00"]),
        (["Remark", "paid by"], ["", "the branch"], ["Remark", "paid by the branch"]),
    ],
)  # fmt: skip
def test_a_row_that_the_pages_end_cuts_is_one_row_with_a_box_on_each(
    tmp_path: Path, above: list[str], below: list[str], whole: list[str]
) -> None:
    head, filler = ["Item", "2025"], [["Cash", "1.00"], ["Bonds", "2.00"]]
    first, second = [head, *filler, above], [head, below, ["Shares", "3.00"], ["Land", "4.00"]]
    (table,) = tables(
        read_pages(
            tmp_path, lambda page: draw_ruled(page, first), lambda page: draw_ruled(page, second)
        ).blocks
    )
    assert cells(table) == [*filler, whole, *second[2:]]
    assert [box.page for box in table.rows[2].boxes] == [1, 2]


def test_a_label_alone_at_the_top_of_a_page_stays_a_row(tmp_path: Path) -> None:
    head = ["项目", "2025年"]
    first = [head, ["货币资金", "1.00"], ["债权投资", "2.00"]]
    second = [head, ["非流动资产：", ""], ["固定资产", "3.00"]]
    (table,) = tables(
        read_pages(
            tmp_path, lambda page: draw_ruled(page, first), lambda page: draw_ruled(page, second)
        ).blocks
    )
    assert cells(table) == [*first[1:], *second[1:]]


def test_a_table_on_its_side_is_read_as_one_that_stands(tmp_path: Path) -> None:
    def draw(page: pymupdf.Page) -> None:
        for at, row in enumerate(SHEET):
            for column, cell in enumerate(row):
                put(page, 200 + 18 * at, 700 - 170 * column, cell, 9, rotate=90)

    (table,) = tables(read_pages(tmp_path, draw).blocks)
    assert table.header == SHEET[0]
    assert cells(table) == SHEET[1:]
