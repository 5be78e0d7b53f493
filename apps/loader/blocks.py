"""What a page is made of once its lines are joined: paragraphs, headings and tables."""

from dataclasses import dataclass

from apps.loader.chunk import Box


@dataclass(slots=True)
class Line:
    """One line of running text; `size` in points, `gap` to the line above (inf at the top of a
    column), `short` if it ends before its column does."""

    text: str
    box: Box
    size: float
    bold: bool
    gap: float
    short: bool


@dataclass(slots=True)
class Paragraph:
    """Running text; `boxes` one a line; `short` if the last line ends before its column does."""

    text: str
    boxes: list[Box]
    short: bool = False


@dataclass(slots=True)
class Heading:
    """A heading; `level` counts from 1."""

    text: str
    box: Box
    level: int


@dataclass(slots=True)
class TableRow:
    """The cells of one row as on the page, "" for an empty one; a box a page."""

    cells: list[str]
    boxes: list[Box]


@dataclass(slots=True)
class Table:
    """A table on one page; `header` is empty if it has none. `title` is the line above that
    announces it."""

    header: list[str]
    rows: list[TableRow]
    box: Box
    title: str = ""


Block = Paragraph | Heading | Table
