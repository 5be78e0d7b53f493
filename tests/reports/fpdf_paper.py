"""Prints a report with fpdf2: its own tables, landscape pages turned by /Rotate, crop boxes."""

from pathlib import Path

import pymupdf
from fpdf import FPDF
from fpdf.enums import TableBordersLayout
from fpdf.fonts import FontFace

from apps.loader.samples.report import Report, Table

_BORDERS = (
    TableBordersLayout.ALL,
    TableBordersLayout.HORIZONTAL_LINES,
    TableBordersLayout.SINGLE_TOP_LINE,
)


def print_report(report: Report, path: Path, style: int) -> None:
    """Write `report`; `style` chooses the borders and whether pages are turned and cropped."""
    paper = FPDF(format="A4")
    paper.set_title(report.title)
    paper.set_margins(22, 20)
    paper.add_page()
    # The built-in Helvetica knows the characters of Latin 1 alone.
    plain = str(report).isascii()
    name = "Helvetica" if plain else "Fallback"
    if not plain:
        font = path.with_suffix(".ttf")
        font.write_bytes(pymupdf.Font("china-s").buffer)
        paper.add_font("Fallback", fname=font)
    _line(paper, name, 20, report.title)
    for section in report.sections:
        paper.ln(4)
        _line(paper, name, 14, section.title)
        for part in section.parts:
            if isinstance(part, Table):
                _table(paper, name, part, style)
            else:
                _line(paper, name, 10.5, part)
    paper.output(str(path))
    if not plain:
        path.with_suffix(".ttf").unlink()
    if style % 4 == 3:
        _turn(path)


def _line(paper: FPDF, name: str, size: float, text: str) -> None:
    paper.set_font(name, size=size)
    paper.multi_cell(0, size * 0.5, text, new_x="LMARGIN", new_y="NEXT", align="L")
    paper.ln(1.5)


def _table(paper: FPDF, name: str, table: Table, style: int) -> None:
    _line(paper, name, 10.5, table.title)
    first = 40 if len(table.header) < 5 else 30
    rest = (100 - first) / (len(table.header) - 1)
    with paper.table(
        borders_layout=_BORDERS[style % 3 if table.ruled else 2],
        col_widths=(first, *[rest] * (len(table.header) - 1)),
        text_align=("LEFT", *["RIGHT"] * (len(table.header) - 1)),
        headings_style=FontFace(emphasis="", fill_color=(228, 232, 240)),
        line_height=6,
    ) as made:
        for cells in (table.header, *table.rows):
            row = made.row()
            for cell in cells:
                row.cell(cell)
    paper.ln(3)


def _turn(path: Path) -> None:
    """Each page drawn on its side and turned upright by /Rotate, with a smaller crop box."""
    with pymupdf.open(path) as source:
        turned = pymupdf.open()
        for page in source:
            width, height = page.rect.width, page.rect.height
            made = turned.new_page(width=height, height=width)
            made.show_pdf_page(made.rect, source, page.number, rotate=90)
            made.set_rotation(90)
        for page in turned:
            box = page.mediabox
            page.set_cropbox((box.x0 + 12, box.y0 + 12, box.x1 - 12, box.y1 - 12))
        turned.set_metadata(source.metadata)
    turned.save(path, garbage=3, deflate=True)
    turned.close()
