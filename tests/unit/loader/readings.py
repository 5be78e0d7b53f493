"""Readings without a file, for tests of what comes after."""

from apps.loader.blocks import Block, Heading, Paragraph, Table, TableRow
from apps.loader.chunk import Box
from apps.loader.file import Reading


def box(page: int = 1, y: float = 100) -> Box:
    return Box(page, 72, y, 500, y + 12)


def paragraph(text: str, *pages: int) -> Paragraph:
    """A line a page, of equal length."""
    on = pages or (1,)
    ends = [len(text) * (at + 1) // len(on) for at in range(len(on))]
    return Paragraph(text, [box(page) for page in on], ends)


def heading(text: str, level: int = 1, page: int = 1) -> Heading:
    return Heading(text, box(page, 60), level)


def table(header: list[str], *rows: list[str], title: str = "", page: int = 1) -> Table:
    made = [TableRow(cells, [box(page, 200 + 18 * at)]) for at, cells in enumerate(rows)]
    return Table(header, made, box(page, 200), title)


def reading(*blocks: Block, ocr: tuple[int, ...] = (), title: str = "Report") -> Reading:
    return Reading(
        sha3="ab" * 64,
        title=title,
        language="en",
        date=None,
        pages=3,
        blocks=list(blocks),
        left_out={1: "cover"},
        hidden={"not painted": 5},
        ocr=list(ocr),
        repaired=False,
    )
