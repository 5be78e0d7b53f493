"""The loader's two edges: the embedding model and the database."""

import os
from collections.abc import Mapping, Sequence

import psycopg

from apps.embedder import Embedder
from apps.embedder.questions import questions
from apps.loader.chunk import Document
from apps.loader.errors import Unreadable
from apps.loader.load import F32
from apps.retrieval import documents
from apps.retrieval.refill import refill

CONNECT_S = 5


class NoDatabase(Exception):
    """The database cannot be reached or used: one line."""


class Passages:
    """The embedder, for passages."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def count(self, text: str) -> int:
        """The tokens of a passage."""
        return self._embedder.count(text, "passage")

    def embed(self, texts: Sequence[str]) -> F32:
        """Vectors, float32 [texts, dimensions]."""
        return self._embedder.embed(texts, "passage").vectors


class Database:
    """PostgreSQL as the role `loader`; use it in a `with` block."""

    def __init__(self, url: str, embedder: Embedder) -> None:
        try:
            self._connection = psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_S)
        except psycopg.OperationalError as error:
            raise NoDatabase(_line(error)) from None
        self._embedder = embedder

    def __enter__(self) -> "Database":
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def has(self, sha3: str, name: str, owner: str | None) -> bool:
        """Whether this very file is stored already."""
        return documents.known(self._connection, sha3, name, owner, self._embedder.model)

    def put(self, document: Document, vectors: F32) -> str:
        """Store it in one transaction. Raises `Unreadable` if it holds what no table does."""
        model = self._embedder.model
        try:
            return documents.replace(self._connection, document, vectors, model).outcome
        except (psycopg.DataError, UnicodeEncodeError) as error:
            raise Unreadable("damaged", f"{_line(error)}; print the file anew") from None

    def finish(self) -> None:
        """What each run ends with, also one that changed nothing: the one before it may have
        been killed."""
        refill(self._connection, self._embedder, questions())


def database_url(environment: Mapping[str, str] = os.environ) -> str:
    """`$DATABASE_URL`, or raises NoDatabase."""
    url = environment.get("DATABASE_URL", "")
    if not url:
        raise NoDatabase("DATABASE_URL is missing; set it to postgresql://loader:…@HOST/switchyard")
    return url


def _line(error: Exception) -> str:
    return " ".join((str(error).splitlines() or ["no reason given"])[0].split())
