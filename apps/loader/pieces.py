"""The spans of a line as pieces of text: joined where they touch, cut where a gap is wide."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from apps.loader.page import Matrix, Rectangle, Segment, turned

GAP = 0.45
"""Part of the type size: pieces of a line that are farther apart are two."""
WORD_GAP = 0.15
"""Part of the type size: less is no gap."""
_WHOLE = re.compile(r"(?:^|\s)[-(]?[¥$€£]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+)[)%]*$")
_WIDE_GAP = re.compile(r"[\d)%]\s+[-+(¥$€£]?\d|\s{2,}")


class Span(NamedTuple):
    """Text in one font; the box is on the page as it is displayed."""

    text: str
    box: Rectangle
    size: float
    bold: bool


class Pieces:
    """Makes pieces of a page's spans."""

    def __init__(self, textpage: Any, upright: Matrix | None) -> None:
        self._textpage = textpage
        self._upright = upright

    @cached_property
    def _words(self) -> list[tuple[Rectangle, str]]:
        """The page's words as displayed, from the left; few pages are asked for them."""
        upright = self._upright
        words = [(word[:4], word[4]) for word in self._textpage.extractWORDS()]
        return sorted((turned(box, upright) if upright else box, text) for box, text in words)

    def of(self, spans: Sequence[Span]) -> Iterator[Segment]:
        """The pieces of one line."""
        for span in _joined(spans) if len(spans) > 1 else spans:
            if _WIDE_GAP.search(span.text.strip()):
                yield from self._by_words(span)
            else:
                yield Segment(*span.box, span.text.strip(), span.size, span.bold)

    def _by_words(self, span: Span) -> Iterator[Segment]:
        """The span cut where a gap is wide: two columns may stand less than a letter apart."""
        x0, y0, x1, y1 = span.box
        middle = (y0 + y1) / 2
        words = [
            (box, text)
            for box, text in self._words
            if box[1] < middle < box[3] and box[0] > x0 - 0.5 and box[2] < x1 + 0.5
        ]
        if "".join(text for _, text in words) != "".join(span.text.split()):
            words = [(span.box, span.text.strip())]
        parts: list[tuple[str, float, float]] = []
        for box, text in words:
            if parts and _is_close(box[0] - parts[-1][2], span.size, parts[-1][0], text):
                parts[-1] = (f"{parts[-1][0]} {text}", parts[-1][1], box[2])
            else:
                parts.append((text, box[0], box[2]))
        for text, left, right in parts:
            yield Segment(left, y0, right, y1, text, span.size, span.bold)


def _joined(spans: Sequence[Span]) -> Iterator[Span]:
    """Spans that touch as one."""
    last: Span | None = None
    for span in spans:
        if last is None or span.box[0] - last.box[2] >= GAP * span.size:
            if last is not None:
                yield last
            last = span
            continue
        apart = span.box[0] - last.box[2] > 0.18 * span.size
        space = " " if apart and not last.text.endswith(" ") and span.text[0] != " " else ""
        box = (last.box[0], min(last.box[1], span.box[1]),
               span.box[2], max(last.box[3], span.box[3]))  # fmt: skip
        last = Span(last.text + space + span.text, box, last.size, last.bold and span.bold)
    if last is not None:
        yield last


def _is_close(gap: float, size: float, before: str, word: str) -> bool:
    """Whether the word belongs to the text before it: two whole amounts never do."""
    if _WHOLE.search(before) and _WHOLE.match(word):
        return gap < WORD_GAP * size
    return gap < GAP * size
