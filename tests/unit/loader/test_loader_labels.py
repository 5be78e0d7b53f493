"""Labels of several lines, set as close as rows are: which lines are one row."""

from collections.abc import Sequence
from pathlib import Path

import pymupdf
import pytest

from apps.loader.blocks import Paragraph
from tests.unit.loader.pdfs import cells, put, read_pages, tables

PITCH = 16.0
Line = tuple[str, ...]


def draw(page: pymupdf.Page, table: Sequence[Line], top: float = 200) -> None:
    """A line each, all as far apart; a label alone has no values."""
    for at, (label, *values) in enumerate(table):
        put(page, 72, top + PITCH * at, label, 9)
        for column, value in enumerate(values):
            put(page, 300 + 90 * column, top + PITCH * at, value, 9)


def rows(folder: Path, table: Sequence[Line]) -> list[list[str]]:
    (found,) = tables(read_pages(folder, lambda page: draw(page, table)).blocks)
    return cells(found)


def test_a_label_around_the_height_of_its_values_is_one_row(tmp_path: Path) -> None:
    table = [
        ("项目", "2025年", "2024年"),
        ("货币资金", "1.00", "2.00"),
        ("以公允价值计量且其变",),
        ("动计入当期损益的金融", "3.00", "4.00"),
        ("资产",),
        ("债权投资", "5.00", "6.00"),
        ("应收账款", "7.00", "8.00"),
    ]
    assert rows(tmp_path, table) == [
        ["货币资金", "1.00", "2.00"],
        ["以公允价值计量且其变动计入当期损益的金融资产", "3.00", "4.00"],
        ["债权投资", "5.00", "6.00"],
        ["应收账款", "7.00", "8.00"],
    ]


def test_words_are_broken_where_the_next_has_no_room(tmp_path: Path) -> None:
    table = [
        ("Item", "2025"),
        ("Liabilities for the",),
        ("remaining coverage of", "1.00"),
        ("Insurance contracts",),
        ("Bonds", "2.00"),
        ("Liabilities for the",),
        ("incurred claims of all", "3.00"),
        ("Contracts",),
    ]
    assert rows(tmp_path, table) == [
        ["Liabilities for the remaining coverage of Insurance contracts", "1.00"],
        ["Bonds", "2.00"],
        ["Liabilities for the incurred claims of all Contracts", "3.00"],
    ]


def test_labels_of_three_and_five_lines_that_follow_each_other_are_told_apart(
    tmp_path: Path,
) -> None:
    table = [
        ("项目", "2025年"),
        ("华东地区分支机构汇总",),
        ("含上海浙江江苏安徽福", "1.00"),
        ("建江西",),
        ("华北地区分支机构汇总",),
        ("含北京天津河北山西内",),
        ("蒙古以及东北地区的三", "2.00"),
        ("个省份和计划单列城市",),
        ("等地",),
    ]
    assert rows(tmp_path, table) == [
        ["华东地区分支机构汇总含上海浙江江苏安徽福建江西", "1.00"],
        ["华北地区分支机构汇总含北京天津河北山西内蒙古以及东北地区的三个省份和计划单列城市等地",
         "2.00"],
    ]  # fmt: skip


def test_the_first_label_of_a_page_has_lines_above_its_values_too(tmp_path: Path) -> None:
    table = [
        ("分公司",),
        ("9（账单迟到，下季度补", "1.00"),
        ("记）",),
        ("分公司 10", "2.00"),
    ]
    reading = read_pages(tmp_path, lambda page: draw(page, table))
    (found,) = tables(reading.blocks)
    assert cells(found) == [["分公司9（账单迟到，下季度补记）", "1.00"], ["分公司 10", "2.00"]]
    assert not [block for block in reading.blocks if isinstance(block, Paragraph)]
    assert found.rows[0].boxes[0].y0 < 200 - 6


@pytest.mark.parametrize(
    "table",
    [
        [("项目", "2025年"), ("个人业务",), ("保费收入", "1.00"), ("团体业务",),
         ("赔款支出", "2.00")],
        [("项目", "2025年"), ("个人健康保险业务",), ("意外保险保费收入", "1.00"),
         ("团体健康险业务",), ("意外保险保费收入", "2.00")],
        [("Item", "2025"), ("Motor",), ("Premiums", "1.00"), ("Home",), ("Premiums", "2.00")],
        [("Item", "2025"), ("Motor",), ("premiums", "1.00"), ("claims", "2.00"), ("Home",),
         ("premiums", "3.00"), ("claims", "4.00")],
        [("Item", "2025"), ("Equity and liabilities",), ("Current liabilities:",), ("Debt", "1.00"),
         ("Total liabilities", "2.00"), ("Current assets of all:",), ("Cash", "3.00")],
    ],
    ids=["one row a group", "groups as wide as rows", "English groups", "small letters", "colons"],
)  # fmt: skip
def test_what_says_what_the_rows_below_are_about_is_no_part_of_a_label(
    tmp_path: Path, table: list[Line]
) -> None:
    width = len(table[0])
    assert rows(tmp_path, table) == [[*line, *[""] * (width - len(line))] for line in table[1:]]


@pytest.mark.parametrize(
    ("lines", "label"),
    [
        ([("分公司（账单迟到，", "1.00"), ("下季度补记）",)], "分公司（账单迟到，下季度补记）"),
        ([("分公司（账单迟到，",), ("下季度补记）", "1.00")], "分公司（账单迟到，下季度补记）"),
        ([("Property, plant,", "1.00"), ("Land",)], "Property, plant, Land"),
        ([("Insurance contract", "1.00"), ("liabilities",)], "Insurance contract liabilities"),
        ([("Insurance contract",), ("liabilities", "1.00")], "Insurance contract liabilities"),
    ],
)
@pytest.mark.parametrize("is_last", [False, True])
def test_a_line_that_says_itself_that_it_goes_on_is_one_row_with_the_next(
    tmp_path: Path, lines: list[Line], label: str, is_last: bool
) -> None:
    """Its values may stand beside its first line or its last."""
    table = [("Item", "2025"), ("Cash", "3.00"), ("Bonds", "4.00"), *lines]
    if not is_last:
        table.append(("Shares", "5.00"))
    found = rows(tmp_path, table)
    assert found[2] == [label, "1.00"]
    assert len(found) == len(table) - 2
