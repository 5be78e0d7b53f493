"""The passages nearest to a question, among those that the asker may read and asked for.

Time range, department, confidence, row-level security and the vector order are one SQL statement
(apps/retrieval/statement.py). If the question's words are given, the nearest passages are put in
order by them, too: hybrid search.
"""

from dataclasses import dataclass, fields
from datetime import date
from typing import Any, LiteralString

from psycopg.rows import class_row

from apps.retrieval.centring import centred, middle
from apps.retrieval.pool import Connection
from apps.retrieval.space import COLUMNS, DIMENSIONS
from apps.retrieval.statement import FEW, Conditions, nearest, prepare
from apps.retrieval.terms import shared
from apps.retrieval.vector import F32, BadVector, Vector, register, unpacked

MAX_LIMIT = 200
# How many of the nearest the question's words choose from, and how much they count beside the
# cosine; chosen by the questions of tests/bench/questions that are for choosing.
CANDIDATES = 20
WORDS = 0.1


class BadQuery(ValueError):
    """A query that cannot be searched for; `str()` is one line."""


class NotReady(Exception):
    """No vectors of this model are ready to be searched: load documents with it first."""


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for.

    `vector` is the question's embedding by `model`, float32 [384], as the model gave it; `words`
    is the text that was embedded, or "" for a search by the vector alone; `language` is `zh` or
    `en`. Each filter that is given narrows the search: `departments`,
    `since` and `until` (both days included; a document without a date is in no range),
    `min_confidence` (0 to 1). At most `limit` passages (1 to `MAX_LIMIT`) come back.
    """

    vector: F32
    model: str
    language: str
    words: str = ""
    departments: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    min_confidence: float = 0.0
    limit: int = 5

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MAX_LIMIT:
            raise BadQuery(f"a search gives 1 to {MAX_LIMIT} passages, not {self.limit}")
        if self.vector.shape != (DIMENSIONS,):
            raise BadQuery(
                f"the question's vector has {self.vector.size} numbers, not {DIMENSIONS}"
            )


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage and where it stands.

    `score` is the cosine to the question, 1 the nearest; `boxes` are {"page", "x0", "y0", "x1",
    "y1"}: pages from 1, unrotated page points, origin top left; `section` are the headings
    above it, the outermost first; `own` says that the asker uploaded the document.
    """

    chunk: int
    score: float
    text: str
    kind: str
    document: str
    title: str
    department: str
    reported_on: date | None
    language: str
    section: list[str]
    boxes: list[dict[str, Any]]
    confidence: float
    own: bool

    @property
    def page(self) -> int:
        """The page on which the passage begins."""
        return int(self.boxes[0]["page"])


def search(connection: Connection, query: Query) -> list[Passage]:
    """The passages nearest to `query`, nearest first; none is a result.

    Runs in the caller's transaction, for the customer whom it asserts. Raises `BadQuery` or
    `NotReady`.
    """
    conditions, values = filters(query)
    prepared = _prepare(connection, query, conditions, values)
    try:
        vector = centred(query.vector, prepared.middle, "the question's vector")
    except BadVector as error:
        raise BadQuery(str(error)) from None
    register(connection)
    exact = prepared.passing <= FEW
    # The words choose among more than are wanted, and a graph's own order is loose.
    limit = query.limit if exact and not query.words else max(query.limit, CANDIDATES)
    statement = nearest(prepared.column, conditions, limit, exact)
    with connection.cursor(row_factory=class_row(_Candidate)) as cursor:
        cursor.execute(statement, {**values, "vector": Vector(vector)}, prepare=True)
        found = cursor.fetchall()
    # The words choose among the nearest only, however many are wanted.
    ordered = [*_ordered(found[:CANDIDATES], query.words), *found[CANDIDATES:]]
    return [one.passage() for one in ordered[: query.limit]]


@dataclass(frozen=True, slots=True)
class _Candidate(Passage):
    search_text: str

    def passage(self) -> Passage:
        return Passage(*(getattr(self, one.name) for one in fields(Passage)))


def _ordered(found: list[_Candidate], words: str) -> list[_Candidate]:
    """By the cosine and, if there are any, the words of the question."""
    if not words:
        return found
    likeness = shared(words, [one.search_text for one in found])
    fused = [one.score + WORDS * part for one, part in zip(found, likeness, strict=True)]
    order = sorted(range(len(found)), key=lambda at: -fused[at])
    return [found[at] for at in order]


def filters(query: Query) -> tuple[Conditions, dict[str, Any]]:
    """The conditions that narrow the search, and their parameters."""
    wanted: tuple[tuple[LiteralString, str, Any], ...] = (
        ("v.department = ANY (%(departments)s)", "departments", list(query.departments)),
        ("v.reported_on >= %(since)s", "since", query.since),
        ("v.reported_on <= %(until)s", "until", query.until),
        ("v.confidence >= %(confidence)s::real", "confidence", query.min_confidence),
    )
    given = [one for one in wanted if one[2]]
    return tuple(one[0] for one in given), {one[1]: one[2] for one in given}


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The column to search, what to take from the question, and how many rows pass."""

    column: str
    middle: F32 | None
    passing: int


def _prepare(
    connection: Connection, query: Query, conditions: Conditions, values: dict[str, Any]
) -> _Prepared:
    names = {"model": query.model, "language": query.language}
    with connection.cursor(binary=True) as cursor:
        cursor.execute(prepare(conditions), {**values, **names}, prepare=True)
        row = cursor.fetchone()
    assert row is not None
    slot, mean, asked, passing = row[-4:]
    if slot is None:
        raise NotReady(f"no vectors of {query.model} are ready; load documents with it")
    taken = None if mean is None else middle(unpacked(mean), unpacked(asked))
    return _Prepared(COLUMNS[str(slot)], taken, int(str(passing)))
