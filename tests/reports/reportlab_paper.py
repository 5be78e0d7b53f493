"""Prints a report with ReportLab: repeated table heads, zebra rows, prose in two columns."""

from functools import cache
from io import BytesIO
from pathlib import Path

import pymupdf
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import (
    BalancedColumns,
    Flowable,
    Paragraph,
    SimpleDocTemplate,
    Spacer,
    TableStyle,
)
from reportlab.platypus import Table as Cells

from apps.loader.samples.report import Report, Table


@cache
def cjk_font() -> str:
    """The Chinese font that PyMuPDF carries, embedded as a subset; its name here."""
    pdfmetrics.registerFont(TTFont("Fallback", BytesIO(pymupdf.Font("china-s").buffer)))
    return "Fallback"


def print_report(report: Report, path: Path, style: int) -> None:
    """Write `report`; `style` chooses how tables are ruled and whether prose has two columns."""
    font = cjk_font() if report.language == "zh" else "Times-Roman"
    wrap = "CJK" if report.language == "zh" else None
    body = ParagraphStyle("body", fontName=font, fontSize=10, leading=14, wordWrap=wrap)
    head = ParagraphStyle("head", parent=body, fontSize=14, leading=20, spaceBefore=12)
    flow: list[Flowable] = [Paragraph(report.title, ParagraphStyle("t", head, fontSize=20))]
    for section in report.sections:
        flow.append(Paragraph(section.title, head))
        prose = [part for part in section.parts if isinstance(part, str)]
        if style % 3 == 2 and len(prose) == len(section.parts) and len("".join(prose)) > 300:
            flow.append(BalancedColumns([Paragraph(text, body) for text in prose], nCols=2))
            continue
        for part in section.parts:
            if isinstance(part, Table):
                flow += [Paragraph(part.title, body), _cells(part, body, style), Spacer(1, 10)]
            else:
                flow.append(Paragraph(part, body))
    paper = SimpleDocTemplate(str(path), pagesize=A4, title=report.title, invariant=1)
    paper.build(flow)


def _cells(table: Table, body: ParagraphStyle, style: int) -> Cells:
    """The first column wraps; the others are aligned to the right."""
    rows = [[Paragraph(row[0], body), *row[1:]] for row in (table.header, *table.rows)]
    first = 150 if len(table.header) < 5 else 110
    widths = [first, *[(450 - first) / (len(table.header) - 1)] * (len(table.header) - 1)]
    commands: list[tuple[object, ...]] = [
        ("FONT", (0, 0), (-1, -1), body.fontName, 10),
        ("ALIGN", (1, 0), (-1, -1), "RIGHT"),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
    ]
    if not table.ruled or style % 3 == 1:
        commands += [("LINEABOVE", (0, 0), (-1, 0), 1, colors.black),
                     ("LINEBELOW", (0, 0), (-1, 0), 0.5, colors.black),
                     ("LINEBELOW", (0, -1), (-1, -1), 1, colors.black)]  # fmt: skip
    elif style % 3 == 2:
        grey = [colors.whitesmoke, colors.white]
        commands += [("ROWBACKGROUNDS", (0, 1), (-1, -1), grey)]
    else:
        commands += [("GRID", (0, 0), (-1, -1), 0.5, colors.black)]
    return Cells(rows, colWidths=widths, repeatRows=1, style=TableStyle(commands))
