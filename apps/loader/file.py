"""Reads one PDF file: what is in it, and what was left out and why."""

import hashlib
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pymupdf

from apps.loader import front, kinds, running
from apps.loader.blocks import Block
from apps.loader.chunk import Language
from apps.loader.errors import Unreadable
from apps.loader.layout import lay_out
from apps.loader.limits import MIB, Limits
from apps.loader.page import Page
from apps.loader.reading import read_page
from apps.loader.structure import blocks

# Warnings about damaged files belong into our report, one line a file, not onto the terminal.
pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)


@dataclass(slots=True)
class Reading:
    """A file as read: `blocks` in the order of reading; `left_out` {page: reason}, `hidden`
    {reason: characters}; `ocr` the pages that are an OCR layer; `repaired` says that the file was
    damaged and put together again by guesswork."""

    sha3: str
    title: str
    language: Language
    date: date | None
    pages: int
    blocks: list[Block]
    left_out: dict[int, str]
    hidden: dict[str, int]
    ocr: list[int]
    repaired: bool

    @property
    def skipped(self) -> dict[str, int]:
        """{reason: how many pages}."""
        return dict(Counter(self.left_out.values()))


def read(path: Path, limits: Limits) -> Reading:
    """Read the file at `path`. Raises `Unreadable`."""
    data = _bytes(path, limits)
    with interpreting(), _open(data, limits) as document:
        return _read(document, hashlib.sha3_512(data).hexdigest(), path.stem, limits)


@contextmanager
def interpreting() -> Iterator[None]:
    """What the library raises, as `Unreadable`, or `MemoryError` if that is what it means."""
    try:
        yield
    except (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase) as error:
        why = (str(error).splitlines() or ["it cannot be interpreted"])[0]
        if "alloc (" in why:
            raise MemoryError from None
        raise Unreadable("damaged", f"{why[:100]}; ask for the file again") from None


def forget() -> None:
    """Give back what the library keeps of files read before: their fonts, above all."""
    pymupdf.TOOLS.store_shrink(100)


def check(path: Path, limits: Limits) -> None:
    """Whether `path` is a file of a size that may be read: before a byte of it is. Raises
    `Unreadable`."""
    try:
        status = path.stat()
    except OSError as error:
        raise Unreadable("not readable", f"{error.strerror}; look at its path") from None
    if not stat.S_ISREG(status.st_mode):
        raise Unreadable("not readable", "it is no plain file; name another one")
    if status.st_size > limits.bytes:
        share = f"{status.st_size / MIB:.1f} MiB of at most {limits.bytes / MIB:.0f}"
        raise Unreadable("too large", f"{share}; split it")


def _bytes(path: Path, limits: Limits) -> bytes:
    check(path, limits)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Unreadable("not readable", f"{error.strerror}; look at its rights") from None
    if not data:
        raise Unreadable("empty", "it has no bytes; copy it again")
    if b"%PDF-" not in data[:1024]:
        raise Unreadable("not a PDF", "it does not begin with %PDF; print it to PDF first")
    return data


def _open(data: bytes, limits: Limits) -> pymupdf.Document:
    document = pymupdf.open(stream=data, filetype="pdf")
    if document.needs_pass:
        raise Unreadable("encrypted", "it needs a password; save it without one")
    if document.page_count > limits.pages:
        raise Unreadable(
            "too many pages", f"{document.page_count} of at most {limits.pages}; split it"
        )
    if document.page_count == 0:
        raise Unreadable("damaged", "it has no page; ask for the file again")
    return document


def _read(document: pymupdf.Document, sha3: str, name: str, limits: Limits) -> Reading:
    pages: list[Page] = []
    left = limits.characters
    for page in document:
        pages.append(read_page(page))
        left -= sum(len(piece.text) for piece in pages[-1].segments)
        if left < 0:
            raise Unreadable("too large", f"more than {limits.characters} characters; split it")
    bodies = running.bodies(pages)
    reasons = kinds.left_out(pages, bodies)
    found = blocks(
        lay_out(page, body)
        for page, body, reason in zip(pages, bodies, reasons, strict=True)
        if not reason
    )
    hidden: Counter[str] = Counter()
    for page in pages:
        hidden.update(page.hidden)
    texts = [piece.text for page in pages[:3] for piece in page.segments]
    return Reading(
        sha3=sha3,
        title=front.title(pages, (document.metadata or {}).get("title") or "", name),
        language=front.language(texts or [name]),
        date=front.report_date(texts),
        pages=len(pages),
        blocks=found,
        left_out={at: reason for at, reason in enumerate(reasons, start=1) if reason},
        hidden=dict(hidden),
        ocr=[page.number for page in pages if page.ocr],
        repaired=document.is_repaired,
    )
