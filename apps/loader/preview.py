"""What the loader made of files, drawn on their pages: for people, who look rather than read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, PackageLoader

from apps.loader.blocks import Block, Heading, Paragraph
from apps.loader.chunk import Box, Chunk
from apps.loader.chunker import chunks
from apps.loader.errors import Unreadable
from apps.loader.limits import Limits
from apps.loader.page import turned
from apps.loader.picture import Picture
from apps.loader.reader import Reader

PAGES = 200
"""Of one file: a page is a picture of some 50 kB."""

Named = tuple[str, Box, str]
"""What is drawn: its kind, where, and what it holds."""


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
    """A page as shown: its picture, or in `error` why there is none, and what is drawn over it."""

    number: int
    picture: Picture | None
    left_out: str
    marks: list[Mark]
    error: str = ""


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
    with Reader(Limits(pages=PAGES)) as reader:
        files = [_shown(path, reader, count) for path in paths]
    return environment.get_template("preview.html.j2").render(files=files)


def _shown(path: Path, reader: Reader, count: Callable[[str], int]) -> Shown:
    try:
        reading = reader.read(path)
        found = chunks(reading, count)
    except Unreadable as error:
        return Shown(path.name, path.name, [], [], str(error))
    named = [*_of_blocks(reading.blocks), *_of_chunks(found)]
    sheets = [
        _sheet(path, reader, number, reading.left_out.get(number, ""), named)
        for number in range(1, reading.pages + 1)
    ]
    return Shown(path.name, reading.title, sheets, found)


def _sheet(path: Path, reader: Reader, number: int, left_out: str, named: Sequence[Named]) -> Sheet:
    try:
        picture = reader.picture(path, number)
    except Unreadable as error:
        return Sheet(number, None, left_out, [], str(error))
    marks = [_mark(picture, kind, box, label) for kind, box, label in named if box.page == number]
    return Sheet(number, picture, left_out, marks)


def _of_blocks(blocks: Sequence[Block]) -> Iterator[Named]:
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


def _of_chunks(found: Sequence[Chunk]) -> Iterator[Named]:
    for chunk in found:
        for box in chunk.boxes:
            label = f"chunk {chunk.number}, {chunk.tokens} tokens: {chunk.search_text}"
            yield "chunk", box, label


def _mark(picture: Picture, kind: str, box: Box, label: str) -> Mark:
    """The box, which is on the unrotated page, where it is displayed."""
    x0, y0, x1, y1 = turned((box.x0, box.y0, box.x1, box.y1), picture.upright)
    return Mark(kind, x0, y0, x1 - x0, y1 - y0, label)
