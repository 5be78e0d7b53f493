"""Blocks to chunks under a budget of tokens: never across a section, never inside a row. Pure."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from apps.loader.blocks import Heading, Paragraph, Table, TableRow
from apps.loader.chunk import Box, Chunk, Kind
from apps.loader.errors import Unreadable
from apps.loader.file import Reading
from apps.loader.normal import readable_share, searchable
from apps.loader.rows import continued
from apps.loader.sentences import pieces

BUDGET = 240
"""Tokens of a chunk: a passage that a person reads at a glance, and half of the model's window."""
MOST = 50_000
"""Chunks of a document."""
CHARACTERS = 1_000
"""Of a chunk, on average over the document: a long head that every row repeats is more."""
_LONGEST_TOKEN = 64
"""Characters."""
_NOTES = re.compile(
    r"[\d一二三四五六七八九十、.．\s]*(?:(?:财务报表)?附注|notes?\b)", re.IGNORECASE
)

Count = Callable[[str], int]


def chunks(reading: Reading, count: Count, budget: int = BUDGET, most: int = MOST) -> list[Chunk]:
    """The chunks of a file. `count` gives the tokens of a text, special ones included. Raises
    `Unreadable` if they are more than `most`, or if what is repeated in each is without end."""
    chunker = _Chunker(reading, count, budget, most)
    for at, block in enumerate(reading.blocks):
        following = reading.blocks[at + 1] if at + 1 < len(reading.blocks) else None
        chunker.add(block, following)
    chunker.flush()
    return chunker.done


class _Chunker:
    """Where in the document we are and what is collected of the running text."""

    def __init__(self, reading: Reading, count: Count, budget: int, most: int) -> None:
        self._reading = reading
        self._count = count
        self._budget = budget
        self._most = most
        self._characters = 0
        self._path: list[tuple[int, str]] = []
        self._text = ""
        self._boxes: list[Box] = []
        self.done: list[Chunk] = []

    def add(self, block: Heading | Paragraph | Table, following: object) -> None:
        """Take the next block; `following` is the one after it."""
        if isinstance(block, Paragraph):
            self._paragraph(block)
            return
        self.flush()
        if isinstance(block, Table):
            self._rows(block)
            return
        while self._path and self._path[-1][0] >= block.level:
            self._path.pop()
        if isinstance(following, Table):
            # What announces a table is found with it, and says which columns it has.
            text = " ".join(dict.fromkeys((block.text, following.title, *following.header)))
            self._emit("heading", text, text, [block.box], {"announces": "table"})
        self._path.append((block.level, block.text))

    def flush(self) -> None:
        """End the chunk that is being collected."""
        if self._text:
            self._emit("text", self._text, self._text, self._boxes, {})
        self._text, self._boxes = "", []

    def _paragraph(self, block: Paragraph) -> None:
        start = 0
        for piece in pieces(block.text, self._fits):
            longer = continued(self._text, piece) if self._text else piece
            if self._text and not self._fits(longer):
                self.flush()
                longer = piece
            self._text = longer.strip()
            self._boxes += block.within(start, start + len(piece))
            start += len(piece)

    def _rows(self, table: Table) -> None:
        """A row with a label alone is no passage: it says what the rows below it are about."""
        group = ""
        for at, row in enumerate(table.rows):
            is_label = len(row.cells) > 1 and row.cells[0] and not any(row.cells[1:])
            if is_label and at + 1 < len(table.rows):
                group = row.cells[0]
            else:
                self._row(table, row, group)

    def _row(self, table: Table, row: TableRow, group: str) -> None:
        shown = " | ".join(row.cells)
        if table.header:
            shown = f"{' | '.join(table.header)}\n{shown}"
        metadata: dict[str, Any] = {"cells": row.cells}
        if table.header:
            metadata["header"] = table.header
        if table.title:
            metadata["table"] = table.title
        if group:
            metadata["group"] = group
        spoken = f"{table.title} {group} {_spoken(table, row)}"
        self._emit("table_row", shown, spoken, row.boxes, metadata)

    def _fits(self, text: str) -> bool:
        room = self._budget - len(self._context()) // 2
        # A token is at least a character, so that short texts need no tokeniser; nor do long ones.
        if len(text) + 4 <= room:
            return True
        return len(text) <= _LONGEST_TOKEN * room and self._count(text) <= room

    def _context(self) -> str:
        return " ".join([self._reading.title, *(text for _, text in self._path)])

    def _emit(
        self, kind: Kind, text: str, spoken: str, boxes: Sequence[Box], metadata: dict[str, Any]
    ) -> None:
        search = searchable(f"{self._context()}: {spoken}")
        self._characters += len(text) + len(search)
        if len(self.done) >= self._most or self._characters > CHARACTERS * self._most:
            raise Unreadable("too large", f"it gives more than {self._most} passages; split it")
        section = tuple(text for _, text in self._path)
        merged = tuple(_by_page(boxes))
        ocr = any(box.page in self._reading.ocr for box in merged)
        metadata |= {"ocr": True} if ocr else {}
        metadata |= {"notes": True} if any(map(_NOTES.match, section)) else {}
        confidence = readable_share(text) * (0.5 if ocr else 1.0)
        tokens = self._count(search)
        self.done.append(
            Chunk(len(self.done), text, search, kind, merged, section, tokens, confidence, metadata)
        )


def _spoken(table: Table, row: TableRow) -> str:
    """A row as a sentence: each value after the name of its column."""
    parts = [row.cells[0]]
    for at, cell in enumerate(row.cells[1:], start=1):
        if cell:
            name = table.header[at] if table.header else ""
            parts.append(f"{name} {cell}" if name else cell)
    return f"{parts[0]}: {', '.join(parts[1:])}" if len(parts) > 1 else parts[0]


def _by_page(boxes: Sequence[Box]) -> Iterator[Box]:
    """One box a page, around all of that page's."""
    for page in dict.fromkeys(box.page for box in boxes):
        same = [box for box in boxes if box.page == page]
        yield Box(
            page,
            min(box.x0 for box in same),
            min(box.y0 for box in same),
            max(box.x1 for box in same),
            max(box.y1 for box in same),
        )
