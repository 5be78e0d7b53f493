"""Give every chunk its vector of a model: what a loader does last, and what a new model needs.

The chunks are embedded in batches, each committed by itself, beside the searches in the other
model's column; ended in the middle, the next run goes on. Then the model is ready.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from apps.retrieval import space as spaces
from apps.retrieval.centring import put, recentre
from apps.retrieval.pool import Connection
from apps.retrieval.vector import F32

BATCH = 64


class Vectors(Protocol):
    """What `Embedder.embed` gives."""

    @property
    def vectors(self) -> F32:
        """Float32 [texts, dimensions]."""


class Embeds(Protocol):
    """What is asked of the embedder (apps.embedder.Embedder)."""

    @property
    def model(self) -> str:
        """The name that its vectors are kept under."""

    def embed(self, texts: Sequence[str], kind: Literal["query", "passage"]) -> Vectors:
        """The texts' vectors."""


def refill(connection: Connection, embedder: Embeds, questions: Mapping[str, Sequence[str]]) -> int:
    """Embed what has no vector of the embedder's model yet; recentre; let the model be searched.

    `questions` is {language: general questions}. Returns the number of chunks that were
    embedded. Raises `NoSpace` and what the model raises.
    """
    space = spaces.claim(connection, embedder.model)
    count = 0
    while batch := _missing(connection, space.model):
        vectors = embedder.embed([text for _, _, text in batch], "passage").vectors
        with connection.transaction():
            for language in {language for _, language, _ in batch}:
                pairs = [
                    (chunk, vector)
                    for (chunk, spoken, _), vector in zip(batch, vectors, strict=True)
                    if spoken == language
                ]
                put(connection, space, language, pairs)
        count += len(batch)
    asked = {
        language: embedder.embed(texts, "query").vectors.mean(axis=0)
        for language, texts in questions.items()
    }
    recentre(connection, space.model, asked)
    spaces.set_ready(connection, space)
    return count


def _missing(connection: Connection, model: str) -> list[tuple[int, str, str]]:
    """(chunk, language, search text) of the next chunks without a vector of the model."""
    rows = connection.execute(
        "SELECT c.id, v.language, c.search_text"
        "  FROM documents.chunks AS c JOIN documents.vectors AS v ON v.chunk = c.id"
        " WHERE NOT EXISTS (SELECT FROM documents.embeddings AS e"
        "                    WHERE e.chunk = c.id AND e.model = %s)"
        " ORDER BY c.id LIMIT %s",
        (model, BATCH),
    )
    return [(int(str(chunk)), str(language), str(text)) for chunk, language, text in rows]
