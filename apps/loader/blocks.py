"""What a page is made of once its lines are joined: paragraphs, headings and tables."""

from bisect import bisect_left, bisect_right
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
    """Running text; `boxes` one a line, and in `ends` where in `text` each line ends; `short` if
    the last line ends before its column does."""

    text: str
    boxes: list[Box]
    ends: list[int]
    short: bool = False

    def within(self, start: int, end: int) -> list[Box]:
        """The boxes of the lines that `text[start:end]` stands on."""
        first = bisect_right(self.ends, start)
        return self.boxes[first : bisect_left(self.ends, end) + 1]


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
