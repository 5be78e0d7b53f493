"""Turns a page's pieces into lines and tables, in the order of reading. Pure."""

from collections.abc import Sequence

from apps.loader import aligned, grid
from apps.loader.blocks import Line, Table, TableRow
from apps.loader.cells import is_value
from apps.loader.grid import Cell, Grid
from apps.loader.page import Page, Segment
from apps.loader.rows import Row, continued, flows, joined, rows


def lay_out(page: Page, segments: Sequence[Segment]) -> list[Line | Table]:
    """The page's `segments` as lines and tables."""
    ruled = grid.grids(page)
    inside: list[list[Segment]] = [[] for _ in ruled]
    outside: list[Segment] = []
    for piece in segments:
        home = next((at for at, one in enumerate(ruled) if one.contains(piece)), None)
        (outside if home is None else inside[home]).append(piece)
    items: list[tuple[float, Line | Table]] = []
    for flow in flows(page, outside):
        items += _flow(page, flow)
    for one, pieces in zip(ruled, inside, strict=True):
        if pieces:
            _insert(items, one, _ruled(page, one, pieces))
    return [item for _, item in items]


def _flow(page: Page, flow: Sequence[Row]) -> list[tuple[float, Line | Table]]:
    """Lines and unruled tables of one flow, each with the height of its bottom."""
    items: list[tuple[float, Line | Table]] = []
    at, above = 0, None
    for start, end in [*aligned.groups(flow), (len(flow), len(flow))]:
        for row in flow[at:start]:
            items.append((row[0].y1, _line(page, row, above)))
            above = row
        at = start
        if start == end:
            break
        table = aligned.cells(flow[start:end])
        if table is not None:
            items.append((flow[end - 1][0].y1, _table(page, table)))
            at, above = end, flow[end - 1]
    return items


def _line(page: Page, row: Row, above: Row | None) -> Line:
    gap = row[0].y0 - above[0].y1 if above else page.height
    size = max(piece.size for piece in row)
    return Line(joined(row), page.box(row), size, all(piece.bold for piece in row), gap)


def _ruled(page: Page, one: Grid, pieces: list[Segment]) -> list[Line | Table]:
    table = grid.cells(one, pieces)
    if max(map(len, table)) >= 2:
        return [_table(page, table)]
    return [_line(page, row, None) for row in rows(pieces)]


def _insert(
    items: list[tuple[float, Line | Table]], one: Grid, found: Sequence[Line | Table]
) -> None:
    """Put a ruled area after the last thing above it."""
    place = max(
        (at + 1 for at, (y, _) in enumerate(items) if y <= one.ys[0] + grid.NEAR), default=0
    )
    items[place:place] = [(one.ys[-1], item) for item in found]


def _table(page: Page, table: list[list[Cell]]) -> Table:
    texts = [[_text(cell) for cell in row] for row in table]
    made = [
        TableRow(text, page.box([piece for cell in row for piece in cell]))
        for text, row in zip(texts, table, strict=True)
    ]
    head = _header_rows(texts)
    header = [
        " ".join(filter(None, (row[column] for row in texts[:head]))).strip()
        for column in range(len(texts[0]))
    ]
    whole = page.box([piece for row in table for cell in row for piece in cell])
    return Table(header if head else [], made[head:], whole)


def _text(cell: Cell) -> str:
    """A cell's lines as one."""
    text = ""
    for line in rows(cell):
        text = continued(text, joined(line)) if text else joined(line)
    return text


def _header_rows(texts: list[list[str]]) -> int:
    """How many rows come before the first with a value; none if all have one, one if none has."""
    valued = [any(is_value(cell) for cell in row[1:]) for row in texts]
    if True not in valued:
        return 1 if len(texts) > 1 else 0
    first = valued.index(True)
    # A heading within the table has a label alone; it is no header.
    while first and sum(map(bool, texts[first - 1])) == 1 and len(texts[first - 1]) > 1:
        first -= 1
    return min(first, 3)
