"""Turns a page's pieces into lines and tables, in the order of reading. Pure."""

from collections.abc import Sequence
from math import inf

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
    at = 0
    for start, end in aligned.groups(flow):
        if start < at:
            continue
        if columns := aligned.prose(flow, start, end, page.width):
            left, right, until = columns
            items += _lines(page, flow[at:start]) + _lines(page, left) + _lines(page, right)
            at = until
            continue
        table = aligned.table(flow, at, start, end)
        if table is not None:
            items += _lines(page, flow[at : table.start])
            items.append((flow[table.end - 1][0].y1, _table(page, table.cells)))
            at = table.end
    return items + _lines(page, flow[at:])


def _lines(page: Page, flow: Sequence[Row]) -> list[tuple[float, Line | Table]]:
    right = max((row[-1].x1 for row in flow), default=0.0)
    items: list[tuple[float, Line | Table]] = []
    for at, row in enumerate(flow):
        gap = row[0].y0 - flow[at - 1][0].y1 if at else inf
        size = max(piece.size for piece in row)
        short = row[-1].x1 < right - 2 * size
        line = Line(joined(row), page.box(row), size, all(p.bold for p in row), gap, short)
        items.append((row[0].y1, line))
    return items


def _ruled(page: Page, one: Grid, pieces: list[Segment]) -> list[Line | Table]:
    table = grid.cells(one, pieces)
    if max(map(len, table)) >= 2:
        return [_table(page, table)]
    return [line for _, line in _lines(page, rows(pieces))]


def _insert(
    items: list[tuple[float, Line | Table]], one: Grid, found: Sequence[Line | Table]
) -> None:
    """Put a ruled area after the last thing above it."""
    place = max(
        (at + 1 for at, (y, _) in enumerate(items) if y <= one.ys[0] + grid.NEAR), default=0
    )
    items[place:place] = [(one.ys[-1], item) for item in found]


def _table(page: Page, table: list[list[Cell]]) -> Table:
    texts = [_texts(row) for row in table]
    made = [
        TableRow(text, [page.box([piece for cell in row for piece in cell])])
        for text, row in zip(texts, table, strict=True)
    ]
    whole = page.box([piece for row in table for cell in row for piece in cell])
    head = _header_rows(texts)
    title = texts[0][0] if head > 1 and not any(texts[0][1:]) else ""
    header = [
        " ".join(dict.fromkeys(filter(None, (_text(row[at]) for row in table[bool(title) : head]))))
        for at in range(len(texts[0]))
    ]
    return Table(header if head else [], made[head:], whole, title)


def _texts(row: list[Cell]) -> list[str]:
    """The cells' texts; one over several columns counts in the first of them."""
    return ["" if at and cell is row[at - 1] else _text(cell) for at, cell in enumerate(row)]


def _text(cell: Cell) -> str:
    """A cell's lines as one."""
    if len(cell) == 1:
        return cell[0].text
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
