"""One page as plain data: pieces of text and ruling lines, upright as a reader sees the page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from apps.loader.chunk import Box

Rectangle = tuple[float, float, float, float]
Matrix = tuple[float, float, float, float, float, float]


class Segment(NamedTuple):
    """Text on one line without a gap in it; coordinates in points as the page is displayed."""

    x0: float
    y0: float
    x1: float
    y1: float
    text: str
    size: float
    bold: bool

    @property
    def middle(self) -> float:
        """The height at which the line stands."""
        return (self.y0 + self.y1) / 2


@dataclass(slots=True)
class Page:
    """What is visible on page `number` (from 1).

    `columns` are vertical and `bars` horizontal ruling lines (x0, y0, x1, y1). `hidden` is what
    a reader cannot see, with the reason; `ocr` says that `segments` are an OCR layer over the
    page's image. `image_share` is the part of the page that images cover, known only where it
    was asked for. `upright` maps the unrotated page to the displayed one, None if they are equal.
    """

    number: int
    width: float
    height: float
    segments: list[Segment]
    bars: list[Rectangle] = field(default_factory=list)
    columns: list[Rectangle] = field(default_factory=list)
    hidden: dict[str, int] = field(default_factory=dict)
    ocr: bool = False
    image_share: float = 0.0
    restore: Matrix | None = None

    def box(self, parts: Sequence[Segment]) -> Box:
        """The box around `parts`, on the unrotated page."""
        lefts, tops, rights, bottoms, *_ = zip(*parts, strict=True)
        x0, y0, x1, y1 = min(lefts), min(tops), max(rights), max(bottoms)
        if self.restore is not None:
            x0, y0, x1, y1 = turned((x0, y0, x1, y1), self.restore)
        return Box(self.number, round(x0, 2), round(y0, 2), round(x1, 2), round(y1, 2))


def turned(box: Rectangle, matrix: Matrix) -> Rectangle:
    """`box` after a turn by a multiple of 90° (and a shift)."""
    a, b, c, d, e, f = matrix
    xs = (a * box[0] + c * box[1] + e, a * box[2] + c * box[3] + e)
    ys = (b * box[0] + d * box[1] + f, b * box[2] + d * box[3] + f)
    return min(xs), min(ys), max(xs), max(ys)
