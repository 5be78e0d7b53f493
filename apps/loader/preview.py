"""What the loader made of files, drawn on their pages: for people, who look rather than read."""

import base64
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pymupdf
from jinja2 import Environment, PackageLoader

from apps.loader.blocks import Block, Heading, Paragraph
from apps.loader.chunk import Box, Chunk
from apps.loader.chunker import chunks
from apps.loader.errors import Unreadable
from apps.loader.file import read
from apps.loader.limits import Limits

PIXELS_AN_INCH = 80
PAGES = 200
"""Of one file: a page is a picture of some 50 kB."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A rectangle in points of the displayed page, with what it stands for."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    label: str


@dataclass(frozen=True, slots=True)
class Sheet:
    """A page as shown: a PNG in base64, and what is drawn over it."""

    number: int
    width: float
    height: float
    picture: str
    left_out: str
    marks: list[Mark]


@dataclass(frozen=True, slots=True)
class Shown:
    """A file as shown; `error` says why it is not."""

    name: str
    title: str
    sheets: list[Sheet]
    chunks: list[Chunk]
    error: str = ""


def preview(paths: Sequence[Path], count: Callable[[str], int]) -> str:
    """An HTML page that needs nothing else. `count` gives the tokens of a text."""
    environment = Environment(
        loader=PackageLoader("apps.loader"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    files = [_shown(path, count) for path in paths]
    return environment.get_template("preview.html.j2").render(files=files)


def _shown(path: Path, count: Callable[[str], int]) -> Shown:
    try:
        reading = read(path, Limits(pages=PAGES))
    except Unreadable as error:
        return Shown(path.name, path.name, [], [], str(error))
    found = chunks(reading, count)
    with pymupdf.open(path) as document:
        sheets = [
            _sheet(page, reading.left_out.get(page.number + 1, ""), reading.blocks, found)
            for page in document
        ]
    return Shown(path.name, reading.title, sheets, found)


def _sheet(
    page: pymupdf.Page, left_out: str, blocks: Sequence[Block], found: Sequence[Chunk]
) -> Sheet:
    number = page.number + 1
    picture = base64.b64encode(page.get_pixmap(dpi=PIXELS_AN_INCH).tobytes("png")).decode()
    named = [*_of_blocks(blocks), *_of_chunks(found)]
    marks = [_mark(page, kind, box, label) for kind, box, label in named if box.page == number]
    return Sheet(number, page.rect.width, page.rect.height, picture, left_out, marks)


def _of_blocks(blocks: Sequence[Block]) -> Iterator[tuple[str, Box, str]]:
    for block in blocks:
        if isinstance(block, Heading):
            yield "heading", block.box, f"heading, level {block.level}"
        elif isinstance(block, Paragraph):
            for box in block.boxes:
                yield "line", box, "text"
        else:
            yield "table", block.box, f"table: {block.title} ({' | '.join(block.header)})"
            for row in block.rows:
                for box in row.boxes:
                    yield "row", box, " | ".join(row.cells)


def _of_chunks(found: Sequence[Chunk]) -> Iterator[tuple[str, Box, str]]:
    for chunk in found:
        for box in chunk.boxes:
            label = f"chunk {chunk.number}, {chunk.tokens} tokens: {chunk.search_text}"
            yield "chunk", box, label


def _mark(page: pymupdf.Page, kind: str, box: Box, label: str) -> Mark:
    """The box, which is on the unrotated page, where it is displayed."""
    area = pymupdf.Rect(box.x0, box.y0, box.x1, box.y1) * page.rotation_matrix
    area.normalize()
    return Mark(kind, area.x0, area.y0, area.width, area.height, label)
