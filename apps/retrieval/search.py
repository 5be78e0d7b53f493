"""The passages nearest to a question, among those that the asker may read and asked for.

Time range, department, confidence, row-level security and the vector order are one SQL
statement. The planner chooses: a narrow filter goes through the index on department and date
and compares every row that is left, exactly; a wide one walks the graph of near vectors and
goes on until enough rows have passed the filter. If the question's words are given, the nearest
passages are put in order by them, too (hybrid search).
"""

from dataclasses import dataclass, fields
from datetime import date
from typing import Any, LiteralString

from psycopg import sql
from psycopg.rows import class_row

from apps.retrieval.centring import centred, middle
from apps.retrieval.pool import Connection
from apps.retrieval.space import COLUMNS, DIMENSIONS
from apps.retrieval.terms import shared
from apps.retrieval.vector import F32, BadVector, Vector, register, unpacked

MAX_LIMIT = 200
# How many of the nearest the question's words choose from, and how much they count beside the
# cosine; chosen by the questions of tests/bench/questions that are for choosing.
CANDIDATES = 20
WORDS = 0.1
# For this transaction only. Without iterative scans the graph gives up after ef_search rows, of
# which a filter may leave none; 20,000 rows are looked at before it gives up at all.
SETTINGS: dict[LiteralString, str] = {
    "hnsw.ef_search": "100",
    "hnsw.iterative_scan": "strict_order",
    "hnsw.max_scan_tuples": "20000",
    # A plan is made for the values at hand: they decide which index is the right one.
    "plan_cache_mode": "force_custom_plan",
}


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
    column, mean = _prepare(connection, query)
    try:
        vector = Vector(centred(query.vector, mean, "the question's vector"))
    except BadVector as error:
        raise BadQuery(str(error)) from None
    register(connection)
    conditions, values = filters(query)
    statement = sql.SQL(_NEAREST).format(
        column=sql.Identifier(column), conditions=sql.SQL(" AND ").join(conditions)
    )
    values |= {"vector": vector, "limit": max(query.limit, CANDIDATES if query.words else 0)}
    with connection.cursor(row_factory=class_row(_Candidate)) as cursor:
        found = cursor.execute(statement, values).fetchall()
    return [one.passage() for one in _ordered(found, query.words)[: query.limit]]


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


def filters(query: Query) -> tuple[list[sql.SQL], dict[str, Any]]:
    """The conditions on `v` (documents.vectors) and their parameters: only those that narrow,
    so that the planner is not misled by ones that do not."""
    conditions = [sql.SQL("true")]
    values: dict[str, Any] = {}

    def add(condition: LiteralString, name: str, value: Any) -> None:
        conditions.append(sql.SQL(condition))
        values[name] = value

    if query.departments:
        add("v.department = ANY (%(departments)s)", "departments", list(query.departments))
    if query.since is not None:
        add("v.reported_on >= %(since)s", "since", query.since)
    if query.until is not None:
        add("v.reported_on <= %(until)s", "until", query.until)
    if query.min_confidence > 0:
        add("v.confidence >= %(confidence)s::real", "confidence", query.min_confidence)
    return conditions, values


# The inner query decides which; the outer one, over a handful of rows, says what they are. Its
# order is by the distance that was computed, because a graph's own order may be loose.
_NEAREST: LiteralString = """
SELECT c.id AS chunk, 1 - n.distance AS score, c.text, c.search_text, c.kind,
       d.name AS document, d.title, d.department, d.reported_on, d.language,
       c.section, c.boxes, n.confidence, d.owner <> '' AS own
  FROM (
    SELECT v.chunk, v.confidence,
           v.{column} OPERATOR(pgvector.<=>) %(vector)s::pgvector.vector AS distance
      FROM documents.vectors AS v
     WHERE {conditions} AND v.{column} IS NOT NULL
     ORDER BY v.{column} OPERATOR(pgvector.<=>) %(vector)s::pgvector.vector
     LIMIT %(limit)s
  ) AS n
  JOIN documents.chunks AS c ON c.id = n.chunk
  JOIN documents.documents AS d ON d.id = c.document
 ORDER BY n.distance + 0, n.chunk
"""


def _prepare(connection: Connection, query: Query) -> tuple[LiteralString, F32 | None]:
    """Set what the search needs for this transaction; the model's column and language's mean."""
    with connection.cursor(binary=True) as cursor:
        row = cursor.execute(_PREPARE, {"model": query.model, "language": query.language})
        found = row.fetchone()
    assert found is not None
    slot, mean, asked = found[-3:]
    if slot is None:
        raise NotReady(f"no vectors of {query.model} are ready; load documents with it")
    if mean is None:
        return COLUMNS[str(slot)], None
    return COLUMNS[str(slot)], middle(unpacked(mean), unpacked(asked))


_PREPARE = sql.SQL(
    "SELECT {settings}, s.slot, m.mean, m.asked"
    "  FROM (VALUES (%(model)s)) AS wanted (model)"
    "  LEFT JOIN documents.spaces AS s ON s.model = wanted.model AND s.ready"
    "  LEFT JOIN documents.means AS m ON m.model = s.model AND m.language = %(language)s"
).format(
    settings=sql.SQL(", ").join(
        sql.SQL("set_config({}, {}, true)").format(sql.Literal(name), sql.Literal(value))
        for name, value in SETTINGS.items()
    )
)
