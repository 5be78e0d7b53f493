"""Labels of several lines that stand as far apart as rows do. Pure.

Distance cannot tell such a line from a row with a label alone, which says what the rows below it
are about. What tells them: a label that is set around the height of its values has as many lines
above as below it, and a line is broken where the next word had no room.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from apps.loader.page import Segment
from apps.loader.rows import Row

MOST_ABOVE = 3
"""Lines of a label above its values, at the top of a page."""
EVEN = 1.15
"""Times: distances of a label's lines that differ less are equal."""
_OPENING, _CLOSING = "([（［「《", ")]）］」》"
_COLONS = (":", "：")
_BROKEN = re.compile(r"[-,，、/]$")
# What no line is broken in: a Chinese character with the marks around it, or a word.
_UNIT = re.compile(r"[(（「《]*[\u3400-\u9fff][)）」》，。、：；]*|\S+")
_CHINESE = re.compile(r"[\u3400-\u9fff]")


@dataclass(slots=True)
class Wraps:
    """A table's lines are `[start:end]`; `goes_on` says of a line whether it is one row with the
    line above, where that is settled."""

    start: int
    end: int
    goes_on: dict[int, bool] = field(default_factory=dict)


def wraps(lines: Sequence[Row], free: int, start: int, end: int, edge: float) -> Wraps:
    """Which lines of the table `lines[start:end]`, and next to it from `free` on, are one
    label's. `edge` is where the second column begins."""
    labels = _Labels(lines, edge)
    if not any(map(labels.is_lone, range(start, end + 1))):
        return Wraps(start, end)
    for above in range(MOST_ABOVE + 1):
        if above and not (start - above >= free and labels.is_lone(start - above)):
            break
        if found := labels.centred(start, end, above):
            return found
    return labels.written_on(start, end)


class _Labels:
    """The first column of `lines`."""

    def __init__(self, lines: Sequence[Row], edge: float) -> None:
        self._lines = lines
        self._right = edge + 2

    def is_lone(self, at: int) -> bool:
        """Whether there is such a line, with a label alone."""
        if not 0 <= at < len(self._lines):
            return False
        return len(self._lines[at]) == 1 and self._lines[at][0].x1 <= self._right

    def centred(self, start: int, end: int, above: int) -> Wraps | None:
        """Each label around its values: how many lines one has below them says how many the next
        has above, from the first on, which has `above`. None if that does not hold."""
        owners = [at for at in range(start, end) if not self.is_lone(at)]
        counts = [above]
        for owner, following in pairwise(owners):
            counts.append(following - owner - 1 - counts[-1])
        last = owners[-1] + counts[-1]
        if min(counts) < 0 or not all(map(self.is_lone, range(end, last + 1))):
            return None
        first = start - above
        spans = [range(at - k, at + k + 1) for at, k in zip(owners, counts, strict=True)]
        labels = [self._pieces(span) for span in spans if len(span) > 1]
        limit = self._limit(first, last + 1)
        around = [self._lines[at][-1] for at, k in zip(owners, counts, strict=True) if k]
        pairs = zip(labels, around, strict=True)
        if not all(_is_one(label, value, limit) for label, value in pairs):
            return None
        if not labels or not _is_proven(counts, labels, limit):
            return None
        heads = {span[0] for span in spans}
        return Wraps(first, last + 1, {at: at not in heads for at in range(first, last + 1)})

    def written_on(self, start: int, end: int) -> Wraps:
        """Lines that themselves say that they go on: with a bracket open, after a comma, with a
        small letter where labels have capitals."""
        found = Wraps(start, end)
        limit = self._limit(start, end)
        capitals = not any(
            is_small(piece.text)
            for at in range(start + 1, end)
            for piece in self._pieces(range(at, at + 1))
            if not self.is_lone(at) and not self.is_lone(at - 1)
        )
        text = ""
        for at in range(start + 1, end + self.is_lone(end)):
            pair = self._pieces(range(at - 1, at + 1))
            if len(pair) < 2:
                continue
            above, below = pair
            text = f"{text} {above.text}" if found.goes_on.get(at - 1) else above.text
            if not self.is_lone(at) and not self.is_lone(at - 1):
                continue
            lower = capitals and is_small(below.text) and not text.endswith(_COLONS)
            if is_unfinished(text) or (lower and _is_full(above, below, limit)):
                found.goes_on[at] = True
                found.end = max(found.end, at + 1)
        return found

    def _pieces(self, span: range) -> list[Segment]:
        """The labels of the lines."""
        return [self._lines[at][0] for at in span if self._lines[at][0].x1 <= self._right]

    def _limit(self, start: int, end: int) -> float:
        """How far to the right labels go."""
        return max((piece.x1 for piece in self._pieces(range(start, end))), default=0.0)


def _is_one(label: Sequence[Segment], value: Segment, limit: float) -> bool:
    """Whether the lines can be one label: set evenly around the height of `value`, from one edge,
    each broken where it had to be."""
    first, last = label[0], label[-1]
    steps = [below.middle - above.middle for above, below in pairwise(label)]
    return (
        len(steps) > 0
        and max(steps) < EVEN * min(steps)
        and abs((first.middle + last.middle) / 2 - value.middle) < 0.3 * value.size
        and all(abs(piece.x0 - first.x0) < 2 for piece in label)
        and all(abs(piece.size - first.size) < 0.5 for piece in label)
        and not any(piece.text.endswith(_COLONS) for piece in label[:-1])
        and all(
            is_unfinished(text) or _is_full(above, below, limit)
            for text, above, below in _joints(label)
        )
    )


def _is_proven(counts: Sequence[int], labels: Sequence[list[Segment]], limit: float) -> bool:
    """Whether it is no table with groups, in which one line stands above each group's row."""
    between = {above + below for above, below in pairwise(counts)}
    if between == {1} and not counts[-1]:
        return any(_is_open(piece.text) for label in labels for piece in label)
    if max(between, default=0) > 1:
        return True
    unfinished = any(is_unfinished(text) for label in labels for text, _, _ in _joints(label))
    return unfinished or all(limit - label[-1].x1 > label[-1].size for label in labels)


def _joints(label: Sequence[Segment]) -> Iterator[tuple[str, Segment, Segment]]:
    """Each line but the first: the text before it, the line above it, itself."""
    text = ""
    for above, below in pairwise(label):
        text += above.text
        yield text, above, below


def is_unfinished(text: str) -> bool:
    """Whether a label cannot end so."""
    return _is_open(text) or bool(_BROKEN.search(text))


def _is_open(text: str) -> bool:
    return sum(map(text.count, _OPENING)) > sum(map(text.count, _CLOSING))


def is_small(text: str) -> bool:
    """Whether a Latin small letter comes first."""
    return "a" <= text[:1] <= "z"


def _is_full(above: Segment, below: Segment, limit: float) -> bool:
    """Whether the first word of the line below had no room in the line above."""
    unit = _UNIT.match(below.text)
    word = unit[0] if unit else ""
    # Chinese needs no space before it.
    letters = word if _CHINESE.search(word) and _CHINESE.match(above.text[-1:]) else f" {word}"
    width = _width(letters) / max(1.0, _width(below.text)) * (below.x1 - below.x0)
    return limit - above.x1 < width + 0.5


def _width(text: str) -> float:
    """In ems, roughly."""
    return sum(1.0 if letter > "\u2e7f" else 0.5 for letter in text)
