"""The preview shows what was read where it stands."""

import base64
import re
import struct
from pathlib import Path

import pymupdf
import pytest

from apps.loader.errors import Unreadable
from apps.loader.limits import Limits
from apps.loader.picture import PIXELS, Picture
from apps.loader.preview import preview
from apps.loader.reader import Reader
from tests.unit.loader.pdfs import pdf, put
from tests.unit.loader.test_loader_tables import SHEET, draw_ruled


def count(text: str) -> int:
    return len(text)


def draw(page: pymupdf.Page) -> None:
    put(page, 72, 100, "Balance <sheet>", 18)
    draw_ruled(page, SHEET)


def test_every_row_is_drawn_and_nothing_is_markup(tmp_path: Path) -> None:
    text = preview([pdf(tmp_path / "a.pdf", draw)], count)
    rows = re.findall(r'<rect class="row".*?<title>(.*?)</title>', text)
    assert rows == [" | ".join(cells) for cells in SHEET[1:]]
    assert "Balance &lt;sheet&gt;" in text
    assert "<sheet>" not in text
    assert text.count("data:image/png;base64,") == 1
    assert "http" not in text


def test_marks_of_a_turned_page_lie_where_it_is_displayed(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    with pymupdf.open() as document:
        page = document.new_page(width=595, height=842)
        page.set_rotation(90)
        where = pymupdf.Point(300, 200) * page.derotation_matrix
        page.insert_text(where, "Claims are paid in five days.", rotate=90)
        document.save(path)
    text = preview([path], count)
    (x, y) = re.findall(r'<rect class="line" x="([\d.]+)" y="([\d.]+)"', text)[0]
    assert (round(float(x)), round(float(y), -1)) == (300, 190)


def test_pages_left_out_and_files_not_read_say_why(tmp_path: Path) -> None:
    bad = tmp_path / "bad.pdf"
    bad.write_bytes(b"")
    sound = pdf(tmp_path / "a.pdf", draw, lambda page: None)
    text = preview([sound, bad], count)
    assert "a.pdf, page 2: left out, empty" in text
    assert "bad.pdf: empty: it has no bytes; copy it again" in text


def test_a_page_of_any_size_is_a_small_picture(tmp_path: Path) -> None:
    path = tmp_path / "wide.pdf"
    with pymupdf.open() as document:
        put(document.new_page(width=14_000, height=14_000), 72, 100, "Claims are paid.")
        document.save(path)
    with Reader(Limits()) as reader:
        picture = reader.picture(path, 1)
    png = base64.b64decode(picture.png)
    width, height = struct.unpack(">II", png[16:24])
    assert width * height <= PIXELS
    assert (picture.width, picture.height) == (14_000, 14_000)


def test_a_page_that_cannot_be_drawn_says_why_and_the_others_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Reader.picture

    def failing(self: Reader, path: Path, page: int) -> Picture:
        if page == 1:
            raise Unreadable("too much memory", "more than 700 MiB to read it")
        return drawn(self, path, page)

    monkeypatch.setattr(Reader, "picture", failing)
    text = preview([pdf(tmp_path / "a.pdf", draw, draw)], count)
    assert "too much memory: more than 700 MiB" in text
    assert text.count("data:image/png;base64,") == 1
