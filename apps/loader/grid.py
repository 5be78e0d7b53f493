"""Tables with ruling lines: the cells are where the lines say. Pure."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.loader.cells import is_value
from apps.loader.page import Page, Rectangle, Segment
from apps.loader.rows import joined, rows

NEAR = 3.0
"""Points: lines that are closer are one."""


@dataclass(slots=True)
class Grid:
    """A ruled area: edges of its columns and of its rows, in ascending order."""

    xs: list[float]
    ys: list[float]
    lines: list[Rectangle]

    def edges(self, y: float) -> list[float]:
        """Where the columns' lines stand that reach the height `y`, from the left."""
        return sorted(line[0] for line in self.lines if line[1] - NEAR <= y <= line[3] + NEAR)

    def span(self, piece: Segment, edges: Sequence[float]) -> range:
        """The columns that the cell of `piece` covers: from the line at its left to the one at
        its right, of the `edges` at its height."""
        at = bisect_right(edges, (piece.x0 + piece.x1) / 2)
        left = edges[at - 1] if at else self.xs[0]
        right = edges[at] if at < len(edges) else self.xs[-1]
        first = bisect_right(self.xs, left + NEAR)
        return range(first, max(first + 1, bisect_right(self.xs, right - NEAR) + 1))

    def contains(self, piece: Segment) -> bool:
        """Whether the middle of `piece` lies inside."""
        x = (piece.x0 + piece.x1) / 2
        return self.xs[0] <= x <= self.xs[-1] and self.ys[0] <= piece.middle <= self.ys[-1]


def grids(page: Page) -> list[Grid]:
    """The ruled areas of a page that have at least two columns, from the top down."""
    found = []
    for top, bottom in _spans(page.columns):
        edges = [line for line in page.columns if line[1] < bottom and line[3] > top]
        xs = _merged(line[0] for line in edges)
        if len(xs) < 3:
            continue
        bars = [
            line
            for line in page.bars
            if top - NEAR <= line[1] <= bottom + NEAR
            and line[2] > xs[0] + NEAR
            and line[0] < xs[-1] - NEAR
        ]
        ys = _merged([top, bottom, *((line[1] + line[3]) / 2 for line in bars)])
        found.append(Grid(xs, ys, edges))
    return found


def _spans(columns: Sequence[Rectangle]) -> list[tuple[float, float]]:
    """The heights that vertical lines cover, those that touch as one."""
    found: list[tuple[float, float]] = []
    for top, bottom in sorted((line[1], line[3]) for line in columns):
        if found and top <= found[-1][1] + NEAR:
            found[-1] = (found[-1][0], max(found[-1][1], bottom))
        else:
            found.append((top, bottom))
    return [span for span in found if span[1] - span[0] > 8]


def _merged(values: Iterable[float]) -> list[float]:
    found: list[float] = []
    for value in sorted(values):
        if not found or value - found[-1] > NEAR:
            found.append(value)
    return found


Cell = list[Segment]


def cells(grid: Grid, pieces: Sequence[Segment]) -> list[list[Cell]]:
    """The pieces by band and column; columns and bands without any text are left out. A cell over
    several columns is the same list in each."""
    bands: dict[int, dict[int, Cell]] = {}
    edges: dict[float, list[float]] = {}
    for piece in pieces:
        height = piece.middle
        band = bands.setdefault(bisect_right(grid.ys, height), {})
        if height not in edges:
            edges[height] = grid.edges(height)
        first, *more = grid.span(piece, edges[height])
        cell = band.setdefault(first, [])
        cell.append(piece)
        for column in more:
            band.setdefault(column, cell)
    used = sorted({column for band in bands.values() for column in band})
    table: list[list[Cell]] = []
    for at in sorted(bands):
        table += _split([bands[at].get(column, []) for column in used])
    return table


def _split(band: list[Cell]) -> list[list[Cell]]:
    """A band is one row, unless every line in it has a value of its own: then the rows are not
    ruled. A label that wraps leaves lines without one."""
    lines = rows(piece for cell in band for piece in cell)
    if len(lines) < 2:
        return [band]
    split = [[[piece for piece in cell if piece in line] for cell in band] for line in lines]
    if all(any(is_value(joined(cell)) for cell in row[1:]) and row[0] for row in split):
        return split
    return [band]
