"""The corpus in PostgreSQL, as the loader would have left it: real tables, policies and roles."""

import json
import struct
import time
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import psycopg

from apps.retrieval.vector import F32, Vector
from tests.bench.search.corpus import (
    BOXES,
    DIMENSIONS,
    DOCUMENT,
    FIRST_DAY,
    TEXT,
    UPLOADED,
    Corpus,
)

MODEL = "bench@1"
INDEX = "vectors_near_a"


@dataclass(frozen=True)
class Filled:
    """What filling took (seconds) and gave (bytes)."""

    rows_s: float
    index_s: float
    table_bytes: int
    index_bytes: int


def fill(url: str, corpus: Corpus, mean: F32) -> Filled:
    """Store the corpus as the superuser of `url`, with `mean` as the mean of English."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET statement_timeout = 0")
        connection.execute("DROP INDEX documents.vectors_near_a, documents.vectors_near_b")
        begun = time.perf_counter()
        with connection.transaction():
            _rows(connection, corpus, mean)
        rows_s = time.perf_counter() - begun
        begun = time.perf_counter()
        connection.execute(
            f"CREATE INDEX {INDEX} ON documents.vectors"
            " USING hnsw (embedding_a pgvector.vector_cosine_ops)"
        )
        index_s = time.perf_counter() - begun
        connection.execute("VACUUM ANALYZE documents.vectors")
        connection.execute("VACUUM ANALYZE documents.chunks")
        connection.execute("VACUUM ANALYZE documents.documents")
        sizes = connection.execute(
            "SELECT pg_table_size('documents.vectors'), pg_relation_size(%s)",
            (f"documents.{INDEX}",),
        ).fetchone()
    assert sizes is not None
    return Filled(rows_s, index_s, *sizes)


def _rows(connection: psycopg.Connection[tuple[object, ...]], corpus: Corpus, mean: F32) -> None:
    count = len(corpus.vectors)
    connection.execute("INSERT INTO documents.spaces VALUES ('a', %s, true)", (MODEL,))
    connection.execute(
        "INSERT INTO documents.means VALUES (%s, 'en', %s::pgvector.vector, %s::pgvector.vector)",
        (MODEL, Vector(mean), Vector(mean)),
    )
    # A document holds rows of one department and day only in name here: the filters are on the
    # vectors' own columns.
    connection.execute(
        "INSERT INTO documents.documents (customer, name, title, department, reported_on,"
        "  language, pages, sha3, print, risk, report)"
        " SELECT CASE WHEN n %% %s = 0 THEN 'c-1001' END, 'bench-' || n, 'Bench ' || n, 'd0',"
        "  '2020-01-01', 'en', 1, repeat('0', 128), sha256('x'), '{}', '{}'"
        "  FROM generate_series(1, %s) AS n",
        (UPLOADED, -(-count // DOCUMENT)),
    )
    connection.execute(
        "INSERT INTO documents.chunks (document, owner, number, kind, text, search_text, section,"
        "  boxes, tokens, metadata)"
        " SELECT d.id, d.owner, n %% %s, 'text', %s, 'x', '{Chapter}', %s::jsonb, 100, '{}'"
        "  FROM generate_series(0, %s - 1) AS n"
        "  JOIN documents.documents AS d ON d.name = 'bench-' || (n / %s + 1) ORDER BY n",
        (DOCUMENT, TEXT, json.dumps(BOXES), count, DOCUMENT),
    )
    _copy(connection, corpus)


def _copy(connection: psycopg.Connection[tuple[object, ...]], corpus: Corpus) -> None:
    owners = dict(connection.execute("SELECT id, owner FROM documents.chunks").fetchall())
    first = min(int(str(one)) for one in owners)
    head = struct.pack(">HH", DIMENSIONS, 0)
    statement = (
        "COPY documents.vectors (chunk, owner, department, reported_on, confidence, language,"
        " embedding_a) FROM STDIN WITH (FORMAT BINARY)"
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        copy.set_types(["int8", "text", "text", "date", "float4", "text", "bytea"])
        for row, vector in enumerate(corpus.vectors):
            copy.write_row(
                (
                    first + row,
                    owners[first + row],
                    f"d{corpus.departments[row]}",
                    FIRST_DAY + timedelta(int(corpus.days[row])),
                    float(corpus.confidences[row]),
                    "en",
                    # As binary, a vector is bytes like any other.
                    head + np.ascontiguousarray(vector, ">f4").tobytes(),
                )
            )
