"""The passages nearest to a question, among those that the asker may read and asked for.

Time range, department, confidence, row-level security and the vector order are one SQL statement
(apps/retrieval/statement.py). If the question's words are given, the nearest passages are put in
order by them, too: hybrid search.
"""

from dataclasses import dataclass
from datetime import date
from typing import Any, LiteralString

from apps.retrieval import statement
from apps.retrieval.pool import Pool, Settings
from apps.retrieval.space import COLUMNS, DIMENSIONS
from apps.retrieval.statement import FEW, MANY, Conditions
from apps.retrieval.terms import shared
from apps.retrieval.vector import F32, BadVector, Vector, unit

MAX_LIMIT = 200
# How many of the nearest the question's words choose from, and how much they count beside the
# cosine; chosen by the questions of tests/bench/questions that are for choosing.
CANDIDATES = 20
WORDS = 0.1
# A length of a vector in float32 that is a rounding error.
NOWHERE = 1e-6


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


def search(pool: Pool, assertion: str, query: Query) -> list[Passage]:
    """The passages nearest to `query`, nearest first, for the customer of `assertion`; none is a
    result.

    Few rows that pass are one round trip to the database, many are three. Raises `BadQuery`,
    `NotReady` or `TryLater`.
    """
    try:
        unit(query.vector, "the question's vector")
    except BadVector as error:
        raise BadQuery(str(error)) from None
    conditions, values = filters(query)
    # As the model gave it: what its language has in common is to that scale.
    vector = Vector(query.vector)
    values |= {"model": query.model, "language": query.language, "vector": vector}
    # The words of a question choose among more than are wanted.
    limit = max(query.limit, CANDIDATES) if query.words else query.limit

    def ask(settings: Settings, text: bytes) -> list[tuple[Any, ...]]:
        return pool.read(assertion, text, values, settings)

    found = _found(query, ask(statement.FEW_ROWS, statement.compared(conditions, limit, FEW)))
    if found.passing <= FEW:
        return _ordered(found, query)
    [[passing]] = ask(statement.FEW_ROWS, statement.count(conditions, MANY))
    if passing <= MANY:
        rows = ask(statement.MANY_ROWS, statement.compared(conditions, limit, MANY))
    else:
        # A graph's own order is loose, so the last of what is wanted may come late.
        limit = max(limit, CANDIDATES)
        rows = ask(statement.GRAPH, statement.walked(found.column, conditions, limit))
    again = _found(query, rows)
    if again.column != found.column:
        raise NotReady(f"the vectors of {query.model} moved to another column; ask again")
    return _ordered(again, query)


@dataclass(frozen=True, slots=True)
class _Found:
    """What a statement found, nearest first; how many rows it compared, and in which column."""

    column: LiteralString
    passing: int
    passages: list[Passage]
    search_texts: list[str]


def _found(query: Query, rows: list[tuple[Any, ...]]) -> _Found:
    slot, length, passing = rows[0][:3]
    if slot is None:
        raise NotReady(f"no vectors of {query.model} are ready; load documents with it")
    if length < NOWHERE:
        raise BadQuery("the question's vector is the middle of its language; it asks for nothing")
    # The columns of a Passage are in the order of its fields: its chunk and its score come first.
    rows = [row for row in rows if row[4] is not None]
    rows.sort(key=lambda row: (-row[5], row[4]))
    passages = [Passage(*row[4:]) for row in rows]
    return _Found(COLUMNS[slot], passing, passages, [row[3] for row in rows])


def _ordered(found: _Found, query: Query) -> list[Passage]:
    """As many as are wanted, by the cosine and, if there are any, the words of the question."""
    passages = found.passages
    if query.words:
        # The words choose among the nearest only, however many are wanted.
        head = passages[:CANDIDATES]
        likeness = shared(query.words, found.search_texts[:CANDIDATES])
        fused = [one.score + WORDS * part for one, part in zip(head, likeness, strict=True)]
        chosen = [head[at] for at in sorted(range(len(fused)), key=lambda at: -fused[at])]
        passages = [*chosen, *passages[CANDIDATES:]]
    return passages[: query.limit]


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
