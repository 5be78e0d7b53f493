"""Files from anybody: each gives a reading or one clear line."""

import zlib
from dataclasses import replace
from datetime import date
from pathlib import Path

import pymupdf
import pytest

from apps.loader.blocks import Paragraph
from apps.loader.errors import Unreadable
from apps.loader.file import read
from apps.loader.limits import Limits
from tests.unit.loader.pdfs import lines, pdf, put

TEXT = ["The insurer pays the costs of treatment in hospital."]


def sound(path: Path, **save: object) -> Path:
    return pdf(path, *[lambda page: lines(page, TEXT)] * 3, **save)


def kind_of(path: Path, limits: Limits | None = None) -> str:
    with pytest.raises(Unreadable) as caught:
        read(path, limits or Limits())
    assert "\n" not in str(caught.value)
    return caught.value.kind


def test_a_file_behind_a_password_is_encrypted(tmp_path: Path) -> None:
    locked = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "user_pw": "u", "owner_pw": "o"}
    assert kind_of(sound(tmp_path / "a.pdf", **locked)) == "encrypted"


def test_a_file_that_only_restricts_its_owner_is_read(tmp_path: Path) -> None:
    path = sound(tmp_path / "a.pdf", encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="o")
    assert read(path, Limits()).pages == 3


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "empty"),
        (b"MZ not a document", "not a PDF"),
        (b"%PDF-1.7\n%%EOF\n", "damaged"),
        (b"%PDF-1.7\n" + b"\0\xff" * 5000, "damaged"),
    ],
)
def test_what_is_no_document_says_what_it_is(tmp_path: Path, content: bytes, kind: str) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(content)
    assert kind_of(path) == kind


def test_a_missing_file_is_not_readable(tmp_path: Path) -> None:
    assert kind_of(tmp_path / "none.pdf") == "not readable"


def test_a_truncated_file_is_read_as_far_as_it_goes_and_says_so(tmp_path: Path) -> None:
    path = sound(tmp_path / "a.pdf")
    path.write_bytes(path.read_bytes()[:-400])
    reading = read(path, Limits())
    assert reading.repaired
    assert reading.blocks


def test_too_many_pages_bytes_or_characters_are_refused(tmp_path: Path) -> None:
    path = sound(tmp_path / "a.pdf")
    assert kind_of(path, replace(Limits(), pages=2)) == "too many pages"
    assert kind_of(path, replace(Limits(), bytes=100)) == "too large"
    assert kind_of(path, replace(Limits(), characters=60)) == "too large"


def test_a_page_that_calls_itself_ends(tmp_path: Path) -> None:
    """A form that draws itself, and a tree of pages that contains itself."""
    form = (
        b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << /XObject << /F 4 0 R >> >>"
    )
    body = b"%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n"
    body += b"2 0 obj << /Type /Pages /Kids [3 0 R 2 0 R] /Count 2 >> endobj\n"
    body += b"3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 5 0 R"
    body += b" /Resources << /XObject << /F 4 0 R >> >> >> endobj\n"
    body += b"4 0 obj " + form + b" /Length 5 >> stream\n/F Do\nendstream endobj\n"
    body += b"5 0 obj << /Length 5 >> stream\n/F Do\nendstream endobj\n"
    body += b"trailer << /Root 1 0 R >>\n"
    path = tmp_path / "a.pdf"
    path.write_bytes(body)
    assert kind_of(path) == "damaged"


def test_a_flood_of_text_from_few_bytes_is_refused(tmp_path: Path) -> None:
    content = b"BT /F1 9 Tf 10 10 Td " + b"(aaaaaaaaaaaaaaaaaaaaaaaaa) Tj " * 40_000 + b"ET"
    stream = zlib.compress(content)
    body = b"%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n"
    body += b"2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n"
    body += b"3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 9999999 99] /Contents 5 0 R"
    body += b" /Resources << /Font << /F1 6 0 R >> >> >> endobj\n"
    body += b"5 0 obj << /Filter /FlateDecode /Length %d >> stream\n" % len(stream) + stream
    body += b"\nendstream endobj\n6 0 obj << /Type /Font /Subtype /Type1"
    body += b" /BaseFont /Helvetica >> endobj\n"
    body += b"trailer << /Root 1 0 R >>\n"
    path = tmp_path / "a.pdf"
    path.write_bytes(body)
    assert kind_of(path, replace(Limits(), characters=100_000)) == "too large"


def test_glyphs_without_a_unicode_value_are_not_guessed(tmp_path: Path) -> None:
    """A font without ToUnicode and with a custom encoding gives U+FFFD, not letters."""
    body = b"%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n"
    body += b"2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n"
    body += b"3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 5 0 R"
    body += b" /Resources << /Font << /F1 6 0 R >> >> >> endobj\n"
    body += b"5 0 obj << /Length 42 >> stream\nBT /F1 12 Tf 72 700 Td <000100020003> Tj ET"
    body += b"\nendstream endobj\n"
    body += b"6 0 obj << /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H"
    body += b" /DescendantFonts [7 0 R] >> endobj\n"
    body += b"7 0 obj << /Type /Font /Subtype /CIDFontType2 /BaseFont /X /CIDSystemInfo"
    body += b" << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >> endobj\n"
    body += b"trailer << /Root 1 0 R >>\n"
    path = tmp_path / "a.pdf"
    path.write_bytes(body)
    texts = [block.text for block in read(path, Limits()).blocks if isinstance(block, Paragraph)]
    assert set("".join(texts)) == {"\ufffd"}


def test_title_language_and_date_come_from_the_file(tmp_path: Path) -> None:
    def draw(page: pymupdf.Page) -> None:
        put(page, 72, 100, "安和健康保险2025年度报告", 22)
        put(page, 72, 140, "截至2025年12月31日止的年度，公司保持稳健经营。")

    reading = read(pdf(tmp_path / "a.pdf", draw), Limits())
    assert (reading.title, reading.language) == ("安和健康保险2025年度报告", "zh")
    assert reading.date == date(2025, 12, 31)


def test_a_title_is_one_line_without_control_characters(tmp_path: Path) -> None:
    """No table takes a zero byte, and a report is shown on a terminal."""
    path = pdf(tmp_path / "a.pdf", lambda page: put(page, 72, 100, "Claims are paid."))
    with pymupdf.open(path) as document:
        document.set_metadata({"title": "Report"})
        content = document.tobytes()
    path.write_bytes(content.replace(b"(Report)", b"<FEFF00520000001B000A0037>"))
    assert read(path, Limits()).title == "R 7"
