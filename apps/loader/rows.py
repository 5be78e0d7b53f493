"""Joins pieces of text to lines by where they stand, and lines to the order of reading. Pure."""

import re
from collections.abc import Iterable, Sequence
from statistics import median

from apps.loader.page import Page, Segment

Row = list[Segment]
"""What stands at one height, from left to right."""

_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
MIN_COLUMN_ROWS = 3


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
    """The page's rows in the order of reading: one flow, or more where text stands in columns.

    What crosses the gutter between two columns ends both of them.
    """
    everything = rows(segments)
    gutter = _gutter(page, segments) if len(everything) >= 2 * MIN_COLUMN_ROWS else None
    if gutter is None:
        return [everything]
    result: list[list[Row]] = []
    band: list[Segment] = []
    for row in everything:
        if any(piece.x0 < gutter < piece.x1 for piece in row):
            result += [*_columns(band, gutter), [row]]
            band = []
        else:
            band += row
    return [flow for flow in [*result, *_columns(band, gutter)] if flow]


def _gutter(page: Page, segments: Sequence[Segment]) -> float | None:
    """The x between two columns of prose, if there are two."""
    if any(0.3 * page.width < column[0] < 0.7 * page.width for column in page.columns):
        return None
    candidates = sorted({round(piece.x0) - 3 for piece in segments if piece.x0 > page.width * 0.3})
    for x in candidates:
        if x > page.width * 0.7:
            break
        left = [piece for piece in segments if piece.x1 <= x + 2]
        right = [piece for piece in segments if piece.x0 >= x]
        if _is_prose(left, page.width) and _is_prose(right, page.width):
            crossing = len(segments) - len(left) - len(right)
            if crossing <= 0.3 * len(segments):
                return float(x)
    return None


def _is_prose(pieces: Sequence[Segment], width: float) -> bool:
    """Whether the pieces look like a column of running text and not like one of a table."""
    if len(pieces) < MIN_COLUMN_ROWS:
        return False
    wide = median(piece.x1 - piece.x0 for piece in pieces) > 0.25 * width
    letters = sum(len(piece.text) for piece in pieces)
    digits = sum(character.isdigit() for piece in pieces for character in piece.text)
    return wide and digits < 0.2 * letters


def _columns(band: Sequence[Segment], gutter: float) -> list[list[Row]]:
    left = rows(piece for piece in band if piece.x1 <= gutter + 2)
    right = rows(piece for piece in band if piece.x1 > gutter + 2)
    if min(len(left), len(right)) < 2:
        return [rows(band)]
    return [left, right]


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
