"""Put a document into the database, whole or not at all.

A document is known by its owner and name. Loading it again with other content replaces it in
one transaction; loading the same changes nothing.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from psycopg.types.json import Jsonb

from apps.loader.chunk import Document
from apps.retrieval import space as spaces
from apps.retrieval.centring import put
from apps.retrieval.pool import Connection
from apps.retrieval.vector import F32, BadVector, unit

Outcome = Literal["added", "replaced", "unchanged"]


class BadDocument(ValueError):
    """A document that cannot be stored; `str()` is one line."""


@dataclass(frozen=True, slots=True)
class Stored:
    """The document's `id` in the database, what became of it, and its number of chunks."""

    id: int
    outcome: Outcome
    chunks: int


def known(connection: Connection, sha3: str, name: str, owner: str | None, model: str) -> bool:
    """Whether the file with this content hash is stored under this name, with vectors of `model`.

    Then it need be neither read nor embedded again.
    """
    row = connection.execute(
        "SELECT NOT EXISTS ("
        "  SELECT FROM documents.chunks AS c"
        "    LEFT JOIN documents.embeddings AS e ON e.chunk = c.id AND e.model = %s"
        "   WHERE c.document = d.id AND e.chunk IS NULL)"
        "  FROM documents.documents AS d WHERE d.owner = %s AND d.name = %s AND d.sha3 = %s",
        (model, owner or "", name, sha3),
    ).fetchone()
    return row is not None and bool(row[0])


def replace(connection: Connection, document: Document, vectors: F32, model: str) -> Stored:
    """Store `document` and the model's passage `vectors`, float32 [chunks, dimensions], as the
    model gave them. One transaction. Raises `BadDocument` or `NoSpace`.
    """
    _check(document, vectors)
    owner = document.owner or ""
    mark = print_of(document)
    with connection.transaction():
        # Two loads of one name wait for each other; of different names they do not.
        connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 6))", (f"{owner}/{document.name}",)
        )
        row = connection.execute(
            "SELECT id, print FROM documents.documents WHERE owner = %s AND name = %s",
            (owner, document.name),
        ).fetchone()
        space = spaces.claim(connection, model)
        outcome: Outcome = "added"
        if row is not None and row[1] == mark:
            number, outcome = int(str(row[0])), "unchanged"
        else:
            if row is not None:
                connection.execute("DELETE FROM documents.documents WHERE id = %s", (row[0],))
                outcome = "replaced"
            number = _insert(connection, document, mark)
            _insert_chunks(connection, number, document)
        missing = _without_vector(connection, number, model, vectors)
        put(connection, space, document.language, missing)
    return Stored(number, outcome, len(document.chunks))


def remove(connection: Connection, name: str, owner: str | None) -> bool:
    """Take a document out with all that belongs to it; whether there was one."""
    done = connection.execute(
        "DELETE FROM documents.documents WHERE owner = %s AND name = %s", (owner or "", name)
    )
    return done.rowcount > 0


def print_of(document: Document) -> bytes:
    """SHA3-256 of all that is stored for the document but its vectors: equal prints, equal rows."""
    fields = json.dumps(asdict(document), sort_keys=True, default=str)
    return hashlib.sha3_256(fields.encode()).digest()


def _check(document: Document, vectors: F32) -> None:
    count = len(document.chunks)
    if vectors.ndim != 2 or len(vectors) != count:
        raise BadDocument(f"{document.name}: {count} chunks but vectors of shape {vectors.shape}")
    if [chunk.number for chunk in document.chunks] != list(range(count)):
        raise BadDocument(f"{document.name}: its chunks are not numbered 0, 1, 2 …")
    for chunk, vector in zip(document.chunks, vectors, strict=True):
        what = f"{document.name}: chunk {chunk.number}"
        if "\0" in chunk.text or "\0" in chunk.search_text:
            raise BadDocument(f"{what} has a NUL character, which the database refuses")
        if not chunk.boxes:
            raise BadDocument(f"{what} has no box, so nobody could look it up")
        try:
            unit(vector, f"the vector of chunk {chunk.number}")
        except BadVector as error:
            raise BadDocument(f"{document.name}: {error}") from None


def _insert(connection: Connection, document: Document, mark: bytes) -> int:
    row = connection.execute(
        "INSERT INTO documents.documents (customer, name, title, department, reported_on,"
        "  language, pages, sha3, print, risk, report)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id",
        (
            document.owner,
            document.name,
            document.title,
            document.department,
            document.report_date,
            document.language,
            document.pages,
            document.sha3,
            mark,
            _jsonb(document.risk),
            _jsonb(document.report),
        ),
    ).fetchone()
    assert row is not None
    return int(str(row[0]))


def _insert_chunks(connection: Connection, number: int, document: Document) -> None:
    owner = document.owner or ""
    with connection.cursor() as cursor:
        cursor.executemany(
            "WITH new AS (INSERT INTO documents.chunks (document, owner, number, kind, text,"
            "  search_text, section, boxes, tokens, metadata)"
            "  VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id)"
            " INSERT INTO documents.vectors (chunk, owner, department, reported_on, confidence,"
            "  language) SELECT id, %s, %s, %s, %s, %s FROM new",
            [
                (
                    number,
                    owner,
                    chunk.number,
                    chunk.kind,
                    chunk.text,
                    chunk.search_text,
                    list(chunk.section),
                    _jsonb([asdict(box) for box in chunk.boxes]),
                    chunk.tokens,
                    _jsonb(chunk.metadata),
                    owner,
                    document.department,
                    document.report_date,
                    chunk.confidence,
                    document.language,
                )
                for chunk in document.chunks
            ],
        )


def _without_vector(
    connection: Connection, number: int, model: str, vectors: F32
) -> list[tuple[int, F32]]:
    """(chunk, its vector) for the document's chunks that have none of this model yet."""
    rows = connection.execute(
        "SELECT c.id, e.chunk IS NULL FROM documents.chunks AS c"
        "  LEFT JOIN documents.embeddings AS e ON e.chunk = c.id AND e.model = %s"
        " WHERE c.document = %s ORDER BY c.number",
        (model, number),
    )
    return [
        (int(str(chunk)), vector)
        for (chunk, missing), vector in zip(rows, vectors, strict=True)
        if missing
    ]


def _jsonb(value: Any) -> Jsonb:
    return Jsonb(value, dumps=_dumps)


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)
