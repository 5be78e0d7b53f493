"""Pages that are left out are counted with their reason."""

from pathlib import Path

import pymupdf

from apps.loader.blocks import Paragraph
from tests.unit.loader.pdfs import lines, put, read_pages, tables
from tests.unit.loader.test_loader_reading import picture
from tests.unit.loader.test_loader_tables import SHEET, draw_plain

PROSE = ["The insurer pays the costs of treatment in hospital.", "It pays within five days."]


def prose(page: pymupdf.Page) -> None:
    lines(page, PROSE)


def cover(page: pymupdf.Page) -> None:
    put(page, 72, 300, "Annual Report 2025", 26)
    put(page, 72, 350, "Alder Health Insurance plc", 12)


def contents(page: pymupdf.Page) -> None:
    put(page, 72, 90, "目录", 16)
    lines(page, [f"{at} 章节标题 {'.' * 30} {at * 3}" for at in range(1, 8)])


def appendix(page: pymupdf.Page) -> None:
    put(page, 72, 90, "附录A 名词解释", 16)
    lines(page, ["免赔额是指由被保险人自行承担的部分。"])


def scan(page: pymupdf.Page) -> None:
    picture(page, (0, 0, 595, 842))


def unseen(page: pymupdf.Page) -> None:
    put(page, 72, 400, "nobody sees this", render_mode=3)


def test_every_page_that_is_left_out_is_counted(tmp_path: Path) -> None:
    reading = read_pages(
        tmp_path, cover, contents, prose, scan, unseen, lambda page: None, appendix, prose
    )
    assert reading.pages == 8
    assert reading.skipped == {
        "cover": 1,
        "table of contents": 1,
        "scanned": 1,
        "invisible text only": 1,
        "empty": 1,
        # What follows an appendix without a heading of its own belongs to it.
        "appendix": 2,
    }
    assert reading.hidden == {"not painted": 16}


def test_a_first_page_with_sentences_is_no_cover(tmp_path: Path) -> None:
    def draw(page: pymupdf.Page) -> None:
        put(page, 72, 90, "Notice", 20)
        prose(page)

    reading = read_pages(tmp_path, draw, prose)
    assert reading.skipped == {}


def test_a_file_of_one_short_page_is_no_cover(tmp_path: Path) -> None:
    assert read_pages(tmp_path, cover).skipped == {}


def test_an_appendix_ends_where_another_part_begins(tmp_path: Path) -> None:
    def part(page: pymupdf.Page) -> None:
        put(page, 72, 90, "Claims", 16)
        prose(page)

    reading = read_pages(tmp_path, part, appendix, appendix, part)
    assert reading.skipped == {"appendix": 2}


def test_running_heads_and_page_numbers_belong_to_no_page(tmp_path: Path) -> None:
    def draw(number: int) -> object:
        def page_with_head(page: pymupdf.Page) -> None:
            put(page, 72, 40, "Alder Health Insurance 2025", 8)
            put(page, 290, 820, f"- {number} -", 8)
            lines(page, [f"Sentence of page {number} about claims."])

        return page_with_head

    reading = read_pages(tmp_path, *(draw(at) for at in (1, 2, 3)))  # type: ignore[arg-type]
    texts = [block.text for block in reading.blocks if isinstance(block, Paragraph)]
    assert texts == [f"Sentence of page {at} about claims." for at in (1, 2, 3)]


def test_a_line_near_the_edge_that_does_not_return_is_read(tmp_path: Path) -> None:
    def draw(page: pymupdf.Page) -> None:
        put(page, 72, 40, "A sentence at the very top of the page.")
        lines(page, PROSE)

    reading = read_pages(tmp_path, draw, prose, prose)
    assert any("very top" in block.text for block in reading.blocks if isinstance(block, Paragraph))


def test_the_head_of_a_table_at_the_edge_of_each_page_is_no_running_head(tmp_path: Path) -> None:
    def draw(page: pymupdf.Page) -> None:
        draw_plain(page, [SHEET[0], *SHEET[1:]], 60)

    reading = read_pages(tmp_path, draw, draw, draw)
    (table,) = tables(reading.blocks)
    assert (table.header, len(table.rows)) == (SHEET[0], 12)
