"""Joins pieces of text to lines by where they stand, and lines to the order of reading. Pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from apps.loader.page import Page, Segment

Row = list[Segment]
"""What stands at one height, from left to right."""

_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
MIN_COLUMN_ROWS = 3
WIDE = 0.25
"""Part of the page: columns whose lines are wider are running text."""


def rows(segments: Iterable[Segment]) -> list[Row]:
    """The pieces at equal heights together, from the top down: a label and its number are one
    row however far apart they were written into the file."""
    found: list[Row] = []
    anchor = None
    for piece in sorted(segments, key=lambda piece: piece.middle):
        if anchor is not None and _level(anchor, piece):
            found[-1].append(piece)
            continue
        found.append([piece])
        anchor = piece
    for row in found:
        row.sort()
    return found


def _level(one: Segment, other: Segment) -> bool:
    """Whether the middles are closer than half of the smaller height."""
    return other.middle - one.middle < 0.45 * min(one.y1 - one.y0, other.y1 - other.y0)


def flows(page: Page, segments: Sequence[Segment]) -> list[list[Row]]:
    """The page's rows in the order of reading: one flow, or more where text stands in columns:
    then what is above them, the left one, the right one, and what is below."""
    band = _band(page, segments)
    if band is None:
        return [rows(segments)] if segments else []
    inside = [piece for piece in segments if band.top <= piece.middle <= band.bottom]
    above = [piece for piece in segments if piece.middle < band.top]
    below = [piece for piece in segments if piece.middle > band.bottom]
    left = [piece for piece in inside if piece.x0 < band.gutter]
    right = [piece for piece in inside if piece.x0 >= band.gutter]
    return [*flows(page, above), rows(left), rows(right), *flows(page, below)]


class _Band(NamedTuple):
    """A part of the page with text at both sides of `gutter` and nothing across."""

    top: float
    bottom: float
    gutter: float


def _band(page: Page, segments: Sequence[Segment]) -> _Band | None:
    """The uppermost two columns of running text, if there are such."""
    width = page.width
    starts = [
        piece for piece in segments if piece.x0 > 0.35 * width and _is_wide_prose(piece, width)
    ]
    for run in _runs(starts):
        gutter = min(piece.x0 for piece in run) - 2
        top, bottom = min(piece.y0 for piece in run), max(piece.y1 for piece in run)
        left = [piece for piece in segments if piece.x1 <= gutter and top <= piece.middle <= bottom]
        wide = [piece for piece in left if _is_wide_prose(piece, width)]
        if len(wide) < MIN_COLUMN_ROWS or 2 * len(wide) < len(left):
            continue
        # The longer column may end a line or two after the other.
        for piece in sorted(segments, key=lambda piece: piece.y0):
            if piece.x1 > gutter or piece.y1 <= bottom:
                continue
            reach = 1.0 if _is_wide_prose(piece, width) else 0.5
            if piece.y0 - bottom < reach * (piece.y1 - piece.y0):
                bottom = piece.y1
        across = [p for p in segments if p.x0 < gutter < p.x1 and top <= p.middle <= bottom]
        if not across:
            return _Band(top, bottom, gutter)
    return None


def _runs(pieces: Iterable[Segment]) -> Iterator[list[Segment]]:
    """Pieces that begin at one x and follow each other, from the top down."""
    columns: dict[int, list[Segment]] = {}
    for piece in sorted(pieces, key=lambda piece: piece.y0):
        columns.setdefault(round(piece.x0 / 4), []).append(piece)
    for column in columns.values():
        run = column[:1]
        for piece in column[1:]:
            if piece.y0 - run[-1].y1 > 2 * (piece.y1 - piece.y0):
                yield run
                run = []
            run.append(piece)
        yield run


def _is_wide_prose(piece: Segment, width: float) -> bool:
    digits = sum(map(str.isdigit, piece.text))
    return piece.x1 - piece.x0 > WIDE * width and digits < 0.2 * len(piece.text)


def joined(row: Row) -> str:
    """A row as one line of text."""
    return " ".join(piece.text for piece in row)


def continued(before: str, text: str) -> str:
    """`text` put after a line that it goes on from: a hyphen at the line's end goes, Chinese
    needs no space."""
    if before.endswith("-") and before[-2:-1].isalpha() and text[:1].islower():
        return before[:-1] + text
    if _CJK.match(before[-1:]) or _CJK.match(text[:1]) or _is_wide(before[-1:]):
        return before + text
    return f"{before} {text}"


def _is_wide(character: str) -> bool:
    return "\u3000" <= character <= "\u303f" or "\uff00" <= character <= "\uffef"
