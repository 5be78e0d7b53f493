"""Files into the database: read, cut, embed, store; one result a file, whatever the file."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from apps.loader import chunker, risk
from apps.loader.chunk import Chunk, Document
from apps.loader.errors import Unreadable
from apps.loader.file import Reading, check
from apps.loader.reader import Reader

F32 = NDArray[np.float32]
BATCH = 64
"""Texts embedded at once: bounds memory, and the time until a stop is noticed."""


class Model(Protocol):
    """What the loader asks of the embedder."""

    def count(self, text: str) -> int:
        """The tokens of a text."""

    def embed(self, texts: Sequence[str]) -> F32:
        """Passage vectors, float32 [texts, dimensions]."""


class Store(Protocol):
    """What the loader asks of the database."""

    def has(self, sha3: str, name: str, owner: str | None) -> bool:
        """Whether this very file is stored under this name with this model's vectors."""

    def put(self, document: Document, vectors: F32) -> str:
        """Store it whole or not at all; `added`, `replaced` or `unchanged`."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file and what is said about it; `report_date` overrides the one found in it, `called` the
    file's own name."""

    path: Path
    department: str
    report_date: date | None = None
    owner: str | None = None
    called: str = ""

    @property
    def name(self) -> str:
        """What the document is known by."""
        return self.called or self.path.name


@dataclass(slots=True)
class Result:
    """What became of one file: a row of the load report. `outcome` is `added`, `replaced`,
    `unchanged` or `failed`; then `error` says why in one line."""

    name: str
    outcome: str
    pages: int = 0
    chunks: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    hidden: dict[str, int] = field(default_factory=dict)
    repaired: bool = False
    seconds: float = 0.0
    error: str = ""
    risk: dict[str, Any] = field(default_factory=dict)


def load(
    sources: Sequence[Source],
    reader: Reader,
    model: Model,
    store: Store,
    *,
    budget: int = chunker.BUDGET,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Result]:
    """Load the files in turn; a bad one gets its result and the others go on."""
    names: set[str] = set()
    for source in sources:
        begun = clock()
        name = source.name
        try:
            if name != (shown := name.encode("utf-8", "replace").decode()):
                name = shown
                raise Unreadable("not readable", "its name is no UTF-8; rename it")
            if name in names:
                raise Unreadable("named twice", "another file of this run has its name; rename it")
            names.add(name)
            result = _one(source, reader, model, store, budget)
        except Unreadable as error:
            result = Result(name, "failed", error=str(error))
        result.seconds = round(clock() - begun, 3)
        yield result


def _one(source: Source, reader: Reader, model: Model, store: Store, budget: int) -> Result:
    name = source.name
    check(source.path, reader.limits)
    if store.has(_sha3(source.path), name, source.owner):
        return Result(name, "unchanged")
    reading = reader.read(source.path)
    most = reader.limits.chunks
    document = document_of(source, reading, chunker.chunks(reading, model.count, budget, most))
    if not document.chunks:
        raise Unreadable("no text", f"nothing to store: {_counted(reading)}; scan it with OCR")
    outcome = store.put(document, _vectors(model, document.chunks))
    return Result(
        name,
        outcome,
        reading.pages,
        len(document.chunks),
        reading.skipped,
        reading.hidden,
        reading.repaired,
        risk=dict(document.risk),
    )


def document_of(source: Source, reading: Reading, chunks: Sequence[Chunk]) -> Document:
    """The document as it is stored."""
    return Document(
        sha3=reading.sha3,
        name=source.name,
        title=reading.title,
        department=source.department,
        report_date=source.report_date or reading.date,
        language=reading.language,
        pages=reading.pages,
        owner=source.owner,
        chunks=tuple(chunks),
        risk=risk.summary(reading.blocks),
        report={
            "pages": reading.pages,
            "skipped": reading.skipped,
            "hidden": reading.hidden,
            "repaired": reading.repaired,
        },
    )


def _vectors(model: Model, chunks: Sequence[Chunk]) -> F32:
    texts = [chunk.search_text for chunk in chunks]
    parts = [model.embed(texts[at : at + BATCH]) for at in range(0, len(texts), BATCH)]
    return np.concatenate(parts)


def _sha3(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha3_512").hexdigest()
    except OSError as error:
        raise Unreadable("not readable", f"{error.strerror}; look at its path") from None


def _counted(reading: Reading) -> str:
    parts = [f"{count} {reason}" for reason, count in reading.skipped.items()]
    return f"{reading.pages} pages, {', '.join(parts) or 'none with a line of text'}"
