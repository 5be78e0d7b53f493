"""Prints a report to PDF with PyMuPDF: a cover, contents, running heads, ruled and plain tables."""

from itertools import pairwise
from pathlib import Path

import pymupdf

from apps.loader.samples.report import Report, Section, Table

WIDTH, HEIGHT, MARGIN = 595.0, 842.0, 60.0
_BODY, _HEADING, _COVER = 10.5, 15.0, 24.0


def print_report(report: Report, path: Path) -> None:
    """Write `report` to `path`."""
    printer = _Printer(report)
    printer.cover()
    printer.contents()
    for number, section in enumerate(report.sections, start=1):
        printer.section(number, section)
    printer.running_heads()
    printer.paper.set_metadata({"title": report.title})
    printer.paper.save(path, garbage=3, deflate=True, no_new_id=True)
    printer.paper.close()


class _Printer:
    """Where the next line goes."""

    def __init__(self, report: Report) -> None:
        self.paper = pymupdf.open()
        self._report = report
        # The built-in Helvetica knows the characters of Latin 1 alone: its file knows more.
        self._sans = pymupdf.Font("helv")
        self._y = 0.0

    def cover(self) -> None:
        """The first page: title and date."""
        self._turn()
        self._y = 260
        for line in self._wrapped(self._report.title, _COVER):
            self._line(line, _COVER, MARGIN, _COVER * 1.5)
        self._line(self._report.date.isoformat(), 13, MARGIN, 40)

    def contents(self) -> None:
        """The second page: each section with dots and a number."""
        self._turn()
        self._line("目录" if self._report.language == "zh" else "Contents", _HEADING, MARGIN, 30)
        for number, section in enumerate(self._report.sections, start=1):
            self._line(f"{number} {section.title} {'.' * 20} {number + 2}", _BODY, MARGIN, 18)
        self._turn()

    def section(self, number: int, section: Section) -> None:
        """A heading and its parts."""
        self._room(140)
        self._y += 10
        self._line(f"{number} {section.title}", _HEADING, MARGIN, _HEADING * 1.8)
        for part in section.parts:
            if isinstance(part, Table):
                self._table(part)
            else:
                for line in self._wrapped(part, _BODY):
                    self._room(20)
                    self._line(line, _BODY, MARGIN, _BODY * 1.45)
                self._y += 6

    def running_heads(self) -> None:
        """The title above and the page's number below every page but the cover."""
        for page in list(self.paper)[1:]:
            self._put(page, self._report.title, 8.5, MARGIN, 30)
            self._put(page, f"- {page.number + 1} -", 8.5, WIDTH / 2 - 10, HEIGHT - 25)

    def _table(self, table: Table) -> None:
        """Title, header and rows; a label that is too wide wraps within its cell."""
        self._room(90)
        self._line(table.title, _BODY, MARGIN, 20)
        room = WIDTH - 2 * MARGIN
        first = room * (0.40 if len(table.header) < 4 else 0.31)
        other = (room - first) / (len(table.header) - 1)
        edges = [MARGIN, *(MARGIN + first + at * other for at in range(len(table.header)))]
        for row in (table.header, *table.rows):
            self._row(row, edges, table.ruled)
        self._y += 14

    def _row(self, row: tuple[str, ...], edges: list[float], ruled: bool) -> None:
        label = self._wrapped(row[0], _BODY, edges[1] - edges[0] - 10)
        height = 19.0 + 12 * (len(label) - 1)
        self._room(height)
        top = self._y
        for at, line in enumerate(label):
            self._put(self._page, line, _BODY, edges[0] + 4, top + 13 + 12 * at)
        for cell, right in zip(row[1:], edges[2:], strict=True):
            width = self._width(cell, _BODY)
            self._put(self._page, cell, _BODY, right - 4 - width, top + 13)
        if ruled:
            for left, right in pairwise(edges):
                self._page.draw_rect((left, top, right, top + height), width=0.6)
        self._y = top + height

    def _wrapped(self, text: str, size: float, width: float = WIDTH - 2 * MARGIN) -> list[str]:
        """Lines that fit: broken between words, in Chinese between characters."""
        pieces = list(text) if self._report.language == "zh" else text.split(" ")
        glue = "" if self._report.language == "zh" else " "
        lines = [pieces[0]]
        for piece in pieces[1:]:
            longer = lines[-1] + glue + piece
            numeric = glue == "" and lines[-1][-1:].isascii() and piece.isascii()
            if self._width(longer, size) <= width or numeric:
                lines[-1] = longer
            else:
                lines.append(piece)
        return lines

    def _name(self, text: str) -> str:
        """The font for `text`: the Chinese one has Latin letters and digits twice as wide."""
        return "sans" if self._report.language == "en" or text.isascii() else "china-s"

    def _width(self, text: str, size: float) -> float:
        if self._name(text) == "sans":
            return float(self._sans.text_length(text, size))
        return float(pymupdf.get_text_length(text, "china-s", size))

    def _line(self, text: str, size: float, x: float, step: float) -> None:
        self._put(self._page, text, size, x, self._y + size)
        self._y += step

    def _put(self, page: pymupdf.Page, text: str, size: float, x: float, y: float) -> None:
        page.insert_text((x, y), text, fontsize=size, fontname=self._name(text))

    def _room(self, height: float) -> None:
        if self._y + height > HEIGHT - 60:
            self._turn()

    def _turn(self) -> None:
        self._page = self.paper.new_page(width=WIDTH, height=HEIGHT)
        self._page.insert_font("sans", fontbuffer=self._sans.buffer)
        self._y = MARGIN
