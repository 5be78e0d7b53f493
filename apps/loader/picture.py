"""A page as people see it, for the preview: drawn by the process that opens strangers' files."""

import base64
import json
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path

import pymupdf

from apps.loader.file import interpreting
from apps.loader.page import Matrix

PIXELS_AN_INCH = 80
PIXELS = 4_000_000
"""Of one picture: a page of any size is one."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG in base64; the page's size in points as displayed; `upright` maps the unrotated page
    to the displayed one."""

    png: str
    width: float
    height: float
    upright: Matrix


def draw(path: Path, number: int) -> bytes:
    """Page `number` (from 1) of a file, as one line of JSON. Raises `Unreadable`."""
    with interpreting(), pymupdf.open(path, filetype="pdf") as document:
        page = document[number - 1]
        width, height = page.rect.width, page.rect.height
        scale = min(PIXELS_AN_INCH / 72, sqrt(PIXELS / (width * height)))
        pixels = page.get_pixmap(matrix=pymupdf.Matrix(scale, scale)).tobytes("png")
        picture = Picture(base64.b64encode(pixels).decode(), width, height,
                          tuple(page.rotation_matrix))  # fmt: skip
    return json.dumps(asdict(picture)).encode() + b"\n"


def drawn(line: bytes) -> Picture:
    """The picture that `draw` made."""
    fields = json.loads(line)
    a, b, c, d, e, f = map(float, fields["upright"])
    return Picture(
        str(fields["png"]), float(fields["width"]), float(fields["height"]), (a, b, c, d, e, f)
    )
