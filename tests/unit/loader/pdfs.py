"""Small PDF files for the tests, made with PyMuPDF."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pymupdf

from apps.loader.blocks import Block, Table
from apps.loader.file import Reading, read
from apps.loader.limits import Limits

Draw = Callable[[pymupdf.Page], None]
FONT = "china-s"


def put(
    page: pymupdf.Page, x: float, y: float, text: str, size: float = 11, **more: object
) -> None:
    """Text with its baseline at `y`."""
    page.insert_text((x, y), text, fontsize=size, fontname=FONT, **more)


def lines(page: pymupdf.Page, texts: Iterable[str], x: float = 72, y: float = 120) -> None:
    """Running text, a line each."""
    for at, text in enumerate(texts):
        put(page, x, y + 15 * at, text)


def pdf(path: Path, *pages: Draw, **save: object) -> Path:
    """A file with a page for each of `pages`."""
    with pymupdf.open() as document:
        for draw in pages:
            draw(document.new_page(width=595, height=842))
        document.save(path, **save)
    return path


def read_pages(folder: Path, *pages: Draw) -> Reading:
    """What the loader reads from them."""
    return read(pdf(folder / "test.pdf", *pages), Limits())


def tables(blocks: Sequence[Block]) -> list[Table]:
    return [block for block in blocks if isinstance(block, Table)]


def cells(table: Table) -> list[list[str]]:
    return [row.cells for row in table.rows]
