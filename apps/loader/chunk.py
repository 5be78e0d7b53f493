"""What the loader makes of a file: passages that know where on which page they stand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal

Kind = Literal["text", "table_row", "heading"]
Language = Literal["zh", "en"]


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on page `page` (from 1), in points of the unrotated page; the origin is the
    top left corner of its crop box, y grows downwards, and `/Rotate` is not applied."""

    page: int
    x0: float
    y0: float
    x1: float
    y1: float


@dataclass(frozen=True, slots=True)
class Chunk:
    """One passage of a document: what is embedded, found and cited.

    `text` is as on the page (a table row under its header); `search_text` is the same with
    ligatures, full-width forms and line breaks normalised, and for a row its table's title;
    `section` is the headings above it, outermost first; `tokens` is what `search_text` takes of
    the embedding model's window.

    `confidence` is the part of the text's characters that a reader of the page would see as they
    are here: a character without a Unicode value counts 0, one of an OCR layer counts a half
    (nothing on the page confirms it), any other 1.
    """

    number: int
    text: str
    search_text: str
    kind: Kind
    boxes: tuple[Box, ...]
    section: tuple[str, ...]
    tokens: int
    confidence: float
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """A file as it is stored: all of it or nothing.

    `sha3` is the SHA3-512 of the file's bytes, in hex; `owner` the customer whose upload it is,
    None for the insurer's own; `risk` the summary of `apps.loader.risk`; `report` counts
    `{"pages": …, "skipped": {reason: pages}}`.
    """

    sha3: str
    name: str
    title: str
    department: str
    report_date: date | None
    language: Language
    pages: int
    owner: str | None
    chunks: tuple[Chunk, ...]
    risk: Mapping[str, Any] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
