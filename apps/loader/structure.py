"""Lines and tables of all pages to headings, paragraphs and whole tables. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import inf

from apps.loader.blocks import Block, Heading, Line, Paragraph, Table, TableRow
from apps.loader.cells import is_value
from apps.loader.labels import is_small, is_unfinished
from apps.loader.rows import continued

LARGER = 1.12
"""Times the usual size: type that is larger is a heading's."""
HEADING_LETTERS = 90
TITLE_LETTERS = 90
PARAGRAPH = 10_000
"""Characters: what is longer is begun anew, as a chunk ends before that in any case."""
_ENDS = re.compile(r"[。！？；.!?;，,]$")
_SENTENCE = re.compile(r"[。！？.!?:：]$")
_NUMBERED = re.compile(
    r"第[一二三四五六七八九十百\d]+[章节部分条]|[一二三四五六七八九十]{1,3}、|[（(][一二三四五六七八九十]{1,3}[）)]"
)
_DEPTH = re.compile(r"(\d+(?:\.\d+)*)[.、\s]")
_UNIT = re.compile(r"[（(]?(?:单位|金额单位|币种|unit|amounts? in|in (?:millions|thousands))", re.I)


def blocks(pages: Iterable[Sequence[Line | Table]]) -> list[Block]:
    """The document's blocks in the order of reading."""
    listed = [list(page) for page in pages]
    body = _usual_size(item for page in listed for item in page)
    levels = _Levels(body)
    found: list[Block] = []
    for page in listed:
        for at, item in enumerate(page):
            if isinstance(item, Table):
                _add_table(found, item, first=at == 0)
            elif levels.is_heading(item):
                found.append(Heading(item.text, item.box, levels.level(item)))
            else:
                _add_line(found, item, first=at == 0)
    return found


def _usual_size(items: Iterable[Line | Table]) -> float:
    sizes: Counter[float] = Counter()
    for item in items:
        if isinstance(item, Line):
            sizes[round(item.size, 1)] += len(item.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0


class _Levels:
    """Tells headings from text and how deep they are: by size, then by their numbers."""

    def __init__(self, body: float) -> None:
        self._body = body
        self._seen: list[tuple[float, int]] = []

    def is_heading(self, line: Line) -> bool:
        if len(line.text) > HEADING_LETTERS or not any(map(str.isalpha, line.text)):
            return False
        if line.size >= LARGER * self._body:
            return True
        if _ENDS.search(line.text):
            return False
        apart = line.gap > 0.4 * line.size
        return (line.bold and apart) or (bool(_NUMBERED.match(line.text)) and len(line.text) < 30)

    def level(self, line: Line) -> int:
        """1 for the outermost; a heading closes all that are as deep or deeper."""
        number = _DEPTH.match(line.text)
        key = (-round(line.size), number[1].count(".") if number else 0)
        while self._seen and self._seen[-1] >= key:
            self._seen.pop()
        self._seen.append(key)
        return len(self._seen)


def _add_line(found: list[Block], line: Line, first: bool) -> None:
    """Goes on with the paragraph before, or begins one."""
    last = found[-1] if found else None
    if isinstance(last, Paragraph):
        same_page = last.boxes[-1].page == line.box.page
        ended = bool(_SENTENCE.search(last.text))
        if not same_page or first or line.gap == inf:
            goes_on = not ended
        else:
            close = line.gap < 0.45 * line.size and not (ended and last.short)
            # A full line in the middle of a sentence goes on, however wide the lines are set.
            goes_on = close or (line.gap < 0.9 * line.size and not ended and not last.short)
        if goes_on and len(last.text) < PARAGRAPH:
            last.text = continued(last.text, line.text)
            last.boxes.append(line.box)
            last.ends.append(len(last.text))
            last.short = line.short
            return
    found.append(Paragraph(line.text, [line.box], [len(line.text)], line.short))


def _add_table(found: list[Block], table: Table, first: bool) -> None:
    """Goes on with the table of the page before, or begins one, with the line above as title."""
    last = found[-1] if found else None
    if first and isinstance(last, Table) and _goes_on(last, table):
        if _is_cut(last.rows[-1].cells, table.rows[0].cells):
            _mend(last.rows[-1], table.rows.pop(0))
        last.rows += table.rows
        return
    lines: list[str] = []
    while found and isinstance(found[-1], Paragraph) and len(lines) < 2:
        text = found[-1].text
        if len(text) > TITLE_LETTERS or _ENDS.search(text):
            break
        lines.insert(0, text)
        found.pop()
        if not _UNIT.match(text):
            break
    if all(map(_UNIT.match, lines)) and found and isinstance(found[-1], Heading):
        lines.insert(0, found[-1].text)
    table.title = " ".join(filter(None, (*lines, table.title)))
    found.append(table)


def _is_cut(above: Sequence[str], below: Sequence[str]) -> bool:
    """Whether the last row of a page and the first of the next are one row that the page's end
    cuts: one of them has no value, and the text goes on."""
    if any(map(is_value, above[1:])) and any(map(is_value, below[1:])):
        return False
    if not below[0]:
        return not any(map(is_value, below[1:]))
    return is_unfinished(above[0]) or (is_small(below[0]) and not is_small(above[0]))


def _mend(row: TableRow, rest: TableRow) -> None:
    pairs = zip(row.cells, rest.cells, strict=True)
    row.cells = [continued(cell, more) if cell and more else cell or more for cell, more in pairs]
    row.boxes += rest.boxes


def _goes_on(last: Table, table: Table) -> bool:
    """Whether `table`, the first thing on its page, has the columns of `last` and no header of
    its own."""
    columns = len(last.header or last.rows[0].cells)
    if len(table.header or table.rows[0].cells) != columns:
        return False
    return not table.header or table.header == last.header
