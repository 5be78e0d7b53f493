"""Vectors of two languages made comparable: each minus the middle of its language.

The embedding model places a text by its language first and by its meaning second, so a question
would find passages of its own language only. What the passages of a language have in common is
their mean; without it, meaning remains. Questions have a middle of their own beside their
language's, so from a question the mean of both is taken. The means are of the insurer's own
documents and of general questions: no customer's upload moves what another customer finds.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import psycopg
from psycopg import sql

from apps.retrieval import space as spaces
from apps.retrieval.pool import Connection
from apps.retrieval.vector import F32, Vector, unit, unpacked

# A mean of few chunks says more about them than about their language: with n of them it counts
# n / (n + this).
FEW = 32
# Moving every vector is dear (each is put into the index again), so a mean that moved by less
# than this (Euclidean; vectors have length 1) is left as it is.
MOVED = 0.02
_BATCH = 1000
_LOCK = 7_305_003


def centred(vector: F32, mean: F32 | None, what: str = "the vector") -> F32:
    """`vector` [n] minus its language's `mean`, at length 1; None is a language without a mean.

    Raises `BadVector` for a vector without a direction.
    """
    return unit(vector if mean is None else vector - mean, what)


def trust(count: int) -> np.float32:
    """How much the mean of `count` vectors counts, from 0 to 1."""
    return np.float32(count / (count + FEW))


def means(connection: Connection, model: str) -> dict[str, F32]:
    """{language: mean float32 [n] of its passages} by the model."""
    with connection.cursor(binary=True) as cursor:
        rows = cursor.execute(
            "SELECT language, mean FROM documents.means WHERE model = %s", (model,)
        ).fetchall()
    return {str(language): unpacked(mean) for language, mean in rows}


def put(
    connection: Connection,
    space: spaces.Space,
    language: str,
    vectors: Sequence[tuple[int, F32]],
) -> None:
    """Store (chunk, its vector as the model gave it) for chunks of `language`, in the caller's
    transaction. Raises `BadVector`."""
    connection.execute("SELECT pg_advisory_xact_lock_shared(%s)", (_LOCK,))
    mean = means(connection, space.model).get(language)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO documents.embeddings (model, chunk, owner, raw)"
            " SELECT %s, chunk, owner, %s::pgvector.vector FROM documents.vectors"
            "  WHERE chunk = %s",
            [(space.model, Vector(vector), chunk) for chunk, vector in vectors],
        )
    _place(connection, space, vectors, mean)


def recentre(connection: Connection, model: str, asked: Mapping[str, F32]) -> dict[str, int]:
    """Bring the means up to date; move the vectors of the languages whose mean moved.

    `asked` is {language: the mean of general questions' vectors}, for every language that is
    asked in. Returns {language: vectors moved}. One transaction, so that a search sees all moved
    or none; then a VACUUM, so `connection` must be in autocommit.
    """
    with connection.transaction():
        # Nobody may be storing vectors that are centred by the means of before.
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        space = spaces.claim(connection, model)
        known = means(connection, model)
        fresh = _fresh(connection, model)
        # Questions are not moved further than passages are.
        part = trust(max((count for _, count in fresh.values()), default=0))
        moved = {}
        for language, general in asked.items():
            raw, count = fresh.get(language, (np.zeros_like(general), 0))
            mean, question = raw * trust(count), general * part
            old = known.get(language)
            stays = old is not None and float(np.linalg.norm(mean - old)) < MOVED
            _keep(connection, model, language, old if stays and old is not None else mean, question)
            if not stays:
                moved[language] = _move(connection, space, language, mean)
    if any(moved.values()):
        # The graph still leads to where the vectors were, and searches astray.
        connection.execute("VACUUM (ANALYZE) documents.vectors")
    return moved


def _keep(connection: Connection, model: str, language: str, mean: F32, asked: F32) -> None:
    connection.execute(
        "INSERT INTO documents.means (model, language, mean, asked)"
        " VALUES (%s, %s, %s::pgvector.vector, %s::pgvector.vector)"
        " ON CONFLICT (model, language)"
        " DO UPDATE SET mean = EXCLUDED.mean, asked = EXCLUDED.asked",
        (model, language, Vector(mean), Vector(asked)),
    )


def _fresh(connection: Connection, model: str) -> dict[str, tuple[F32, int]]:
    """{language: the mean of its passages and their number}."""
    with connection.cursor(binary=True) as cursor:
        rows = cursor.execute(
            "SELECT v.language, pgvector.avg(e.raw), count(*)"
            "  FROM documents.embeddings AS e JOIN documents.vectors AS v ON v.chunk = e.chunk"
            " WHERE e.model = %s AND e.owner = '' GROUP BY v.language",
            (model,),
        ).fetchall()
    return {str(language): (unpacked(mean), int(str(count))) for language, mean, count in rows}


def _move(connection: Connection, space: spaces.Space, language: str, mean: F32) -> int:
    count = 0
    with psycopg.ServerCursor(connection, "raw_vectors") as raw:
        raw.execute(
            "SELECT e.chunk, e.raw FROM documents.embeddings AS e"
            "  JOIN documents.vectors AS v ON v.chunk = e.chunk"
            " WHERE e.model = %s AND v.language = %s",
            (space.model, language),
            binary=True,
        )
        while rows := raw.fetchmany(_BATCH):
            pairs = [(int(str(chunk)), unpacked(vector)) for chunk, vector in rows]
            _place(connection, space, pairs, mean)
            count += len(rows)
    return count


def _place(
    connection: Connection,
    space: spaces.Space,
    vectors: Sequence[tuple[int, F32]],
    mean: F32 | None,
) -> None:
    update = sql.SQL(
        "UPDATE documents.vectors SET {} = %s::pgvector.vector WHERE chunk = %s"
    ).format(sql.Identifier(space.column))
    placed = [
        (Vector(centred(vector, mean, f"the vector of chunk {chunk}")), chunk)
        for chunk, vector in vectors
    ]
    with connection.cursor() as cursor:
        cursor.executemany(update, placed)
