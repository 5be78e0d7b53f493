"""Tables as annual reports and laboratories print them: groups, spans, marks."""

from pathlib import Path

import pymupdf

from apps.loader.chunker import chunks
from apps.loader.risk import summary
from tests.unit.loader.pdfs import cells, put, read_pages, tables
from tests.unit.loader.test_loader_tables import draw_plain, draw_ruled

BALANCE = [
    ["项目", "附注", "期末余额"],
    ["流动资产：", "", ""],
    ["货币资金", "五、1", "1,234,567.89"],
    ["应收账款", "", "45,678.90"],
    ["非流动资产：", "", ""],
    ["固定资产", "五、3", "3,000.00"],
]


def test_a_label_alone_is_a_row_and_the_header_stays_above_it(tmp_path: Path) -> None:
    (table,) = tables(read_pages(tmp_path, lambda page: draw_plain(page, BALANCE)).blocks)
    assert table.header == BALANCE[0]
    assert cells(table) == BALANCE[1:]


def test_rows_are_found_by_the_group_that_they_belong_to(tmp_path: Path) -> None:
    reading = read_pages(tmp_path, lambda page: draw_plain(page, BALANCE))
    found = [chunk for chunk in chunks(reading, len) if chunk.kind == "table_row"]
    assert [chunk.metadata["group"] for chunk in found] == [
        "流动资产：",
        "流动资产：",
        "非流动资产：",
    ]
    assert "流动资产: 货币资金: 附注 五、1, 期末余额 1,234,567.89" in found[0].search_text


def test_the_title_of_the_next_table_ends_the_one_above(tmp_path: Path) -> None:
    def draw(page: pymupdf.Page) -> None:
        draw_plain(page, [["Item", "2025"], ["Cash", "1.00"], ["Bonds", "2.00"]], 200)
        put(page, 72, 262, "Income", 9)
        draw_plain(page, [["Item", "2025"], ["Premiums", "3.00"], ["Claims", "4.00"]], 280)

    first, second = tables(read_pages(tmp_path, draw).blocks)
    assert cells(first) == [["Cash", "1.00"], ["Bonds", "2.00"]]
    assert (second.title, second.header) == ("Income", ["Item", "2025"])


def test_a_label_in_the_middle_of_its_lines_is_one_row(tmp_path: Path) -> None:
    """A browser centres the value between the two lines of a label."""

    def draw(page: pymupdf.Page) -> None:
        draw_plain(page, [["Item", "2025"]], 200)
        put(page, 72, 220, "Cash and cash", 9)
        put(page, 242, 226, "1.00", 9)
        put(page, 72, 232, "equivalents", 9)
        draw_plain(page, [["Bonds", "2.00"], ["Shares", "3.00"]], 252, 26)

    (table,) = tables(read_pages(tmp_path, draw).blocks)
    assert cells(table) == [
        ["Cash and cash equivalents", "1.00"],
        ["Bonds", "2.00"],
        ["Shares", "3.00"],
    ]


def test_a_head_over_two_columns_counts_for_both(tmp_path: Path) -> None:
    def draw(page: pymupdf.Page) -> None:
        # One cell over the second and third column, two below it.
        for x0, x1, y in ((68, 238, 187), (238, 578, 187), (68, 238, 205), (238, 408, 205),
                          (408, 578, 205)):  # fmt: skip
            page.draw_rect((x0, y, x1, y + 18))
        put(page, 380, 200, "保费", 9)
        for x, text in ((72, "产品"), (242, "2025"), (412, "2024")):
            put(page, x, 218, text, 9)
        draw_ruled(page, [["住院", "1.00", "2.00"], ["门诊", "3.00", "4.00"]], 236)

    (table,) = tables(read_pages(tmp_path, draw).blocks)
    assert table.header == ["产品", "保费 2025", "保费 2024"]
    assert cells(table) == [["住院", "1.00", "2.00"], ["门诊", "3.00", "4.00"]]


def test_arrows_and_open_ranges_of_a_laboratory_are_understood(tmp_path: Path) -> None:
    results = [
        ["项目", "结果", "参考范围"],
        ["空腹血糖", "6.8 ↑", "3.9–6.1"],
        ["高密度脂蛋白", "0.9 ↓", "≥ 1.0"],
        ["总胆固醇", "5.0", "≤ 5.2"],
    ]
    reading = read_pages(tmp_path, lambda page: draw_ruled(page, results))
    found = [(one["label"], one["flag"]) for one in summary(reading.blocks)["results"]]
    assert found == [("空腹血糖", "high"), ("高密度脂蛋白", "low")]
