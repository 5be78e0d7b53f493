"""The SQL of a search.

Two ways lead to the nearest rows. Comparing every row that passes the filters is exact, and quick
while they are few; walking the graph of near vectors is quick however many they are, but a graph
knows no filter: it is walked on until enough rows have passed. Which way is the right one is
decided by how many rows pass, because the planner's guess was measured to take the graph where
it is both slower and wrong: up to `FEW` are compared at once; if there are more, they are counted,
and compared up to `MANY`.
"""

from functools import cache
from typing import LiteralString

from psycopg import sql

from apps.retrieval.pool import Settings

FEW = 500
MANY = 5_000

# The way is chosen here, so no plan is made for each question's values. What stops at a limit may
# stop early, which only an index scan does.
FEW_ROWS: Settings = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
}
# Many rows are best read in the order in which they lie.
MANY_ROWS: Settings = {"plan_cache_mode": "force_generic_plan", "enable_seqscan": "off"}
# Without sorting, a plan can only have its order from the graph. Without iterative scans that gives
# up after ef_search rows, of which a filter may leave none; 20,000 rows are looked at before it
# gives up at all. Of the nearest among a million, ef_search 100 was measured to find 0.71, 200 to
# find 0.93.
GRAPH: Settings = {
    "plan_cache_mode": "force_generic_plan",
    "enable_sort": "off",
    "hnsw.ef_search": "200",
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": "20000",
}

Conditions = tuple[LiteralString, ...]
"""On `v`, which is documents.vectors; each with named parameters. All must hold."""

_COUNT: LiteralString = """
SELECT count(*) FROM (
  SELECT FROM documents.vectors AS v WHERE {conditions} LIMIT {most} + 1) AS passing
"""

# The direction of q - (mean + asked) / 2; see apps/retrieval/centring.py. Then what is near, and
# last, of a handful of rows, what they are, in no order. One row comes even if there is no passage.
_SEARCH: LiteralString = """
WITH question AS MATERIALIZED (
  SELECT q.slot, pgvector.l2_normalize(q.vector) AS vector,
         pgvector.vector_norm(q.vector) AS length
    FROM (SELECT s.slot, CASE WHEN m.mean IS NULL THEN p.vector ELSE
                   p.vector OPERATOR(pgvector.+) p.vector
                   OPERATOR(pgvector.-) m.mean OPERATOR(pgvector.-) m.asked END AS vector
            FROM (SELECT %(vector)s::pgvector.vector AS vector) AS p
            LEFT JOIN documents.spaces AS s ON s.model = %(model)s AND s.ready
            LEFT JOIN documents.means AS m ON m.model = s.model AND m.language = %(language)s
         ) AS q
), near AS MATERIALIZED ({near})
SELECT q.slot, q.length, (SELECT count(*) FROM near) AS passing, c.search_text,
       c.id, 1 - n.distance, c.text, c.kind, d.name, d.title, d.department, d.reported_on,
       d.language, c.section, c.boxes, n.confidence, d.owner <> ''
  FROM question AS q
  LEFT JOIN (
    (SELECT * FROM near WHERE distance IS NOT NULL ORDER BY distance, chunk LIMIT {limit}) AS n
    JOIN documents.chunks AS c ON c.id = n.chunk
    JOIN documents.documents AS d ON d.id = c.document
  ) ON true
"""

_COMPARED: LiteralString = """
  SELECT v.chunk, v.confidence,
         CASE (SELECT slot FROM question) WHEN 'a' THEN v.embedding_a ELSE v.embedding_b END
           OPERATOR(pgvector.<=>) (SELECT vector FROM question) AS distance
    FROM documents.vectors AS v
   WHERE {conditions}
   LIMIT {most} + 1
"""

_WALKED: LiteralString = """
  SELECT v.chunk, v.confidence,
         v.{column} OPERATOR(pgvector.<=>) (SELECT vector FROM question) AS distance
    FROM documents.vectors AS v
   WHERE {conditions} AND v.{column} IS NOT NULL
   ORDER BY v.{column} OPERATOR(pgvector.<=>) (SELECT vector FROM question)
   LIMIT {limit}
"""


@cache
def count(conditions: Conditions, most: int) -> bytes:
    """One row: how many rows pass, `most` + 1 at most. Parameters: the conditions'."""
    return _text(_COUNT, conditions=_all(conditions), most=sql.Literal(most))


@cache
def compared(conditions: Conditions, limit: int, most: int) -> bytes:
    """The `limit` nearest of the rows that pass, of which `most` + 1 are compared. Parameters:
    vector, model, language, and the conditions'.

    Rows are the model's slot (None if it is not ready), the length of the question's vector
    without what its language has in common, how many were compared, the passage's search text,
    and the fields of a Passage, in no order; one row without a passage if there is none.
    """
    near = _part(_COMPARED, conditions=_all(conditions), most=sql.Literal(most))
    return _text(_SEARCH, near=near, limit=sql.Literal(limit))


@cache
def walked(column: LiteralString, conditions: Conditions, limit: int) -> bytes:
    """The same, by the graph of `column`, which must be the slot's."""
    # The limit is written out: a plan for an unknown number of rows would rather sort them all.
    near = _part(
        _WALKED,
        column=sql.Identifier(column),
        conditions=_all(conditions),
        limit=sql.Literal(limit),
    )
    return _text(_SEARCH, near=near, limit=sql.Literal(limit))


def _part(template: LiteralString, **parts: sql.Composable) -> sql.Composed:
    return sql.SQL(template).format(**parts)


def _text(template: LiteralString, **parts: sql.Composable) -> bytes:
    return _part(template, **parts).as_bytes()


def _all(conditions: Conditions) -> sql.Composable:
    return sql.SQL(" AND ").join(map(sql.SQL, conditions or ("true",)))
