"""The loader, as the other programs are asked: rows and text of a file."""

from pathlib import Path

from apps.loader.blocks import Table
from apps.loader.file import read
from apps.loader.limits import Limits
from tests.bench.documents.truth import Row, row


def extract(path: Path) -> tuple[list[Row], str]:
    """All rows, and all text in the order of reading."""
    rows: list[Row] = []
    text: list[str] = []
    for block in read(path, Limits()).blocks:
        if isinstance(block, Table):
            rows += [row(each.cells) for each in block.rows]
            text += ["".join(each.cells) for each in block.rows]
        else:
            text.append(block.text)
    return rows, "\n".join(text)
