"""The SQL of a search.

Two ways lead to the nearest rows. Comparing every row that passes the filters is exact, and quick
while they are few; walking the graph of near vectors is quick however many they are, but a graph
knows no filter: it is walked on until enough rows have passed. Which way is the right one is
decided by counting the rows that pass, up to `FEW`, because the planner's guess was measured to
take the graph where it is both slower and wrong.
"""

from typing import LiteralString

from psycopg import sql

FEW = 5_000

# For this transaction only. Without iterative scans the graph gives up after ef_search rows, of
# which a filter may leave none; 20,000 rows are looked at before it gives up at all.
SETTINGS: dict[LiteralString, str] = {
    "hnsw.ef_search": "100",
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": "20000",
    # The way is chosen here, so that a plan need not be made for each question's values.
    "plan_cache_mode": "force_generic_plan",
}

Conditions = tuple[LiteralString, ...]
"""On `v`, which is documents.vectors; each with named parameters. All must hold."""

# Without sorting, a plan can only have its order from the graph.
_PREPARE: LiteralString = """
SELECT {settings},
       set_config('enable_sort', CASE WHEN p.passing < {most} THEN 'on' ELSE 'off' END, true),
       s.slot, m.mean, m.asked, p.passing
  FROM (SELECT count(*) AS passing FROM (
          SELECT FROM documents.vectors AS v WHERE {conditions} LIMIT {most}) AS rows) AS p
  LEFT JOIN documents.spaces AS s ON s.model = %(model)s AND s.ready
  LEFT JOIN documents.means AS m ON m.model = s.model AND m.language = %(language)s
"""

# The inner query decides which; the outer one, over a handful of rows, says what they are. Its
# order is by the distance that was computed, because a graph's own order may be loose. Adding 0
# keeps an order from being read off the graph.
_NEAREST: LiteralString = """
SELECT c.id AS chunk, 1 - n.distance AS score, c.text, c.search_text, c.kind,
       d.name AS document, d.title, d.department, d.reported_on, d.language,
       c.section, c.boxes, n.confidence, d.owner <> '' AS own
  FROM (
    SELECT v.chunk, v.confidence,
           v.{column} OPERATOR(pgvector.<=>) %(vector)s::pgvector.vector AS distance
      FROM documents.vectors AS v
     WHERE {conditions} AND v.{column} IS NOT NULL
     ORDER BY (v.{column} OPERATOR(pgvector.<=>) %(vector)s::pgvector.vector){exact}
     LIMIT {limit}
  ) AS n
  JOIN documents.chunks AS c ON c.id = n.chunk
  JOIN documents.documents AS d ON d.id = c.document
 ORDER BY n.distance + 0, n.chunk
"""


def prepare(conditions: Conditions) -> sql.Composed:
    """One row: the settings made, then the model's slot, its language's mean and that of its
    questions, and how many rows pass, `FEW` + 1 at most. Parameters: model, language, and the
    conditions'."""
    settings = sql.SQL(", ").join(
        sql.SQL("set_config({}, {}, true)").format(sql.Literal(name), sql.Literal(value))
        for name, value in SETTINGS.items()
    )
    return sql.SQL(_PREPARE).format(
        settings=settings, conditions=_all(conditions), most=sql.Literal(FEW + 1)
    )


def nearest(column: str, conditions: Conditions, limit: int, exact: bool) -> sql.Composed:
    """The `limit` nearest rows by `column` with what a Passage needs. Parameters: vector, and
    the conditions'."""
    return sql.SQL(_NEAREST).format(
        column=sql.Identifier(column),
        conditions=_all(conditions),
        exact=sql.SQL(" + 0" if exact else ""),
        # Written out: a plan for an unknown number of rows would rather sort them all.
        limit=sql.Literal(limit),
    )


def _all(conditions: Conditions) -> sql.Composable:
    return sql.SQL(" AND ").join(map(sql.SQL, conditions or ("true",)))
