"""Tables without ruling lines: rows whose pieces stand under each other. Pure."""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from apps.loader.cells import is_value
from apps.loader.grid import Cell
from apps.loader.labels import wraps
from apps.loader.page import Segment
from apps.loader.rows import WIDE, Row, joined

FAR = 2.6
"""Times the type's height: rows farther apart are no longer one table."""
WRAPPED = 0.82
"""Part of the usual distance of rows: a line that is closer goes on with the row above."""
EVEN = 1.25
"""Times: distances of rows that differ less are equal."""
PROSE = 45
"""Characters: cells that are longer on average are running text."""

Interval = tuple[float, float]


class Found(NamedTuple):
    """A table in lines `[start:end]`: its rows' pieces by column, wrapped lines joined."""

    start: int
    end: int
    cells: list[list[Cell]]


def groups(lines: Sequence[Row]) -> list[tuple[int, int]]:
    """Ranges of `lines` that may be a table: rows of several pieces, and single ones between."""
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(lines):
        if len(lines[at]) < 2:
            at += 1
            continue
        end = _end(lines, at)
        found.append((at, end))
        at = end
    return found


def _end(lines: Sequence[Row], start: int) -> int:
    """Where the group that begins at `start` ends."""
    end = start + 1
    values = min(piece.x0 for piece in lines[start][1:])
    for at in range(start + 1, len(lines)):
        row, above = lines[at], lines[at - 1]
        if row[0].middle - above[0].middle > FAR * max(piece.y1 - piece.y0 for piece in row):
            break
        if len(row) >= 2:
            end = at + 1
            values = min(values, *(piece.x0 for piece in row[1:]))
        elif row[0].x0 >= values - 2 and is_value(row[0].text):
            # Alone at its height, between the lines of its label.
            end = at + 1
        elif row[0].x1 > values + 2 or not _is_within(lines, start, at):
            break
    # What wraps belongs to the row above it; a label alone at the end does not.
    if end < len(lines) and len(lines[end]) == 1 and end - start >= 2:
        pitch = _pitch(lines[start:end])
        close = lines[end][0].middle - lines[end - 1][0].middle < WRAPPED * pitch
        if close and lines[end][0].x1 <= values + 2:
            end += 1
    return end


def _is_within(lines: Sequence[Row], start: int, at: int) -> bool:
    """Whether the lone label stands between its neighbours as rows of a table do, in their type:
    what stands apart from the rows above, such as the title of the next table, ends this one."""
    label, above = lines[at][0], lines[at - 1][0]
    if abs(label.size - above.size) > 0.5 or at + 1 == len(lines):
        return False
    pitch = _pitch(lines[start:at])
    after = lines[at + 1][0].middle - label.middle
    return not pitch or label.middle - above.middle < EVEN * max(pitch, after)


def _pitch(lines: Sequence[Row]) -> float:
    """The usual distance of rows with several pieces, next to each other if there are such; else
    from line to line where two rows meet: where the distance is largest."""
    steps = [below[0].middle - above[0].middle for above, below in pairwise(lines)]
    several = [at for at, row in enumerate(lines) if len(row) >= 2]
    near = [steps[above] for above, below in pairwise(several) if below == above + 1]
    between = [max(steps[above:below]) for above, below in pairwise(several)]
    return median(near or between or [0.0])


def table(lines: Sequence[Row], free: int, start: int, end: int) -> Found | None:
    """The table that `lines[start:end]` and the lines next to them, from `free` on, are; None if
    it is none."""
    columns = _columns(lines[start:end])
    if len(columns) < 2:
        return None
    found = wraps(lines, free, start, end, columns[1][0])
    within = lines[found.start : found.end]
    pitch = _pitch(within)
    made: list[list[Cell]] = []
    for at, row in enumerate(within):
        placed: list[Cell] = [[] for _ in columns]
        for piece in row:
            placed[_column(columns, piece)].append(piece)
        goes_on = found.goes_on.get(found.start + at)
        if goes_on is None:
            goes_on = bool(made) and _wraps(within, at, pitch) and not _both_valued(made, placed)
        if goes_on:
            for cell, more in zip(made[-1], placed, strict=True):
                cell += more
        else:
            made.append(placed)
    return Found(found.start, found.end, made) if _is_table(made) else None


def prose(
    lines: Sequence[Row], start: int, end: int, width: float
) -> tuple[list[Row], list[Row], int] | None:
    """Two columns of running text in `lines[start:end]` and what follows on: the left one, the
    right one, and where they end. None if it is a table."""
    columns = _columns(lines[start:end])
    if len(columns) != 2 or end - start < 2:
        return None
    gutter = (columns[0][1] + columns[1][0]) / 2
    pitch = _pitch(lines[start:end])
    while end < len(lines) and len(lines[end]) == 1:
        piece, above = lines[end][0], lines[end - 1][0]
        if piece.x0 < gutter < piece.x1 or piece.middle - above.middle > 1.3 * pitch:
            break
        end += 1
    sides = [[piece for row in lines[start:end] for piece in row if (piece.x0 > gutter) == right]
             for right in (False, True)]  # fmt: skip
    for side in sides:
        if median(piece.x1 - piece.x0 for piece in side) < WIDE * width:
            return None
        if any(is_value(piece.text) for piece in side):
            return None
    left, right = ([[piece] for piece in side] for side in sides)
    return left, right, end


def _wraps(lines: Sequence[Row], at: int, pitch: float) -> bool:
    """Whether line `at` goes on with the row above: it is closer than rows are, and not closer
    still to the one below."""
    before = lines[at][0].middle - lines[at - 1][0].middle
    if before >= WRAPPED * pitch:
        return False
    alone = len(lines[at]) == 1 and at + 1 < len(lines)
    return not alone or before <= lines[at + 1][0].middle - lines[at][0].middle


def _both_valued(table: list[list[Cell]], placed: list[Cell]) -> bool:
    return any(placed[1:]) and any(table[-1][1:])


def _columns(lines: Sequence[Row]) -> list[Interval]:
    """The extent of each column: where pieces of the rows overlap, they share a column."""
    body = lines[1:] if len(lines) > 2 else lines
    parts = sorted((piece.x0, piece.x1) for row in body if len(row) >= 2 for piece in row)
    merged: list[Interval] = []
    for x0, x1 in parts:
        if merged and x0 < merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], x1))
        else:
            merged.append((x0, x1))
    return merged


def _column(columns: Sequence[Interval], piece: Segment) -> int:
    """The column that `piece` shares most of its width with, or else the nearest."""

    def apart(column: Interval) -> float:
        return max(column[0], piece.x0) - min(column[1], piece.x1)

    return min(range(len(columns)), key=lambda at: apart(columns[at]))


def _is_table(table: Sequence[Sequence[Cell]]) -> bool:
    texts = [[joined(cell) for cell in row] for row in table]
    valued = sum(any(is_value(cell) for cell in row[1:]) for row in texts)
    if valued and valued >= 0.4 * len(texts):
        return True
    filled = [sum(map(bool, row)) for row in texts]
    usual = median(filled)
    letters = [len(cell) for row in texts for cell in row if cell]
    return (
        len(texts) >= 3
        and usual >= 2
        and sum(count == usual for count in filled) >= 0.8 * len(texts)
        and sum(letters) / len(letters) < PROSE
    )
