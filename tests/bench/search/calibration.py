"""Which settings of a graph (HNSW) and of lists (ivfflat) are worth what, and the delay under load.

Asked as the role `assistant` under row-level security, at the filter that lets half of the rows
through, so that an index is used however few rows there are.
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from math import sqrt
from statistics import median

import numpy as np
import psycopg
from psycopg import sql

from apps.retrieval import statement
from apps.retrieval.assertion import sign
from apps.retrieval.pool import Pool, Settings, TryLater
from apps.retrieval.search import filters, search
from apps.retrieval.vector import F32, Vector
from tests.bench.progress import say
from tests.bench.search.corpus import FILTERS, NEAREST, Corpus, recall
from tests.bench.search.database import INDEX, MODEL
from tests.bench.search.ours import query

QUESTIONS = 100
EF_SEARCH = (40, 100, 200, 400)
RATE = 100
SECONDS = 20
CALLERS = 8


def graph(url: str, key: bytes, corpus: Corpus, mean: F32) -> None:
    """A line for each ef_search."""
    for ef in EF_SEARCH:
        _line(f"HNSW, ef_search {ef}", url, key, corpus, mean, {"hnsw.ef_search": str(ef)})


def lists(superuser: str, url: str, key: bytes, corpus: Corpus, mean: F32) -> None:
    """A line for each number of lists (rows / 1000 to a million rows, then √rows) and of probes
    (from √lists); ivfflat takes the graph's place for that long."""
    rows = len(corpus.vectors)
    usual = round(rows / 1000 if rows <= 1_000_000 else sqrt(rows))
    for count in sorted({max(usual, 10), max(round(sqrt(rows)), 10)}):
        with _ivfflat(superuser, count):
            for probes in (round(sqrt(count)), 2 * round(sqrt(count)), 4 * round(sqrt(count))):
                settings: Settings = {
                    "ivfflat.probes": str(probes),
                    "ivfflat.iterative_scan": "relaxed_order",
                }
                name = f"ivfflat, {count} lists, {probes} probes"
                _line(name, url, key, corpus, mean, settings)


def under_load(url: str, key: bytes, corpus: Corpus, mean: F32) -> dict[str, float]:
    """P50 and P95 in milliseconds at `RATE` questions a second, counted from when each was due,
    so that a question which waits for its turn is not forgotten."""
    assertion = sign(key, "c-1002", "bench", int(time.time()) + 600)
    wanted = list(FILTERS.values())
    with (
        Pool(url, size=CALLERS, deadline_s=10, read_only=True) as pool,
        ThreadPoolExecutor(CALLERS) as callers,
    ):
        pool.ask()
        begun = time.perf_counter() + 0.5

        def ask(number: int) -> float:
            due = begun + number / RATE
            time.sleep(max(due - time.perf_counter(), 0))
            question = corpus.questions[number % len(corpus.questions)]
            # What is given up counts for as long as that took.
            with suppress(TryLater):
                search(pool, assertion, query(question + mean, wanted[number % len(wanted)]))
            return (time.perf_counter() - due) * 1e3

        spent = list(callers.map(ask, range(RATE * SECONDS)))
    return {
        f"p{part}_ms_at_{RATE}_per_s": round(float(np.percentile(spent, part)), 1)
        for part in (50, 95)
    }


def _line(name: str, url: str, key: bytes, corpus: Corpus, mean: F32, settings: Settings) -> None:
    wanted = FILTERS["50"]
    questions = corpus.questions[:QUESTIONS]
    assertion = sign(key, "c-1002", "bench", int(time.time()) + 600)
    settings = {**statement.GRAPH, **settings}
    spent, found = [], []
    with Pool(url, size=1, deadline_s=60, read_only=True) as pool:
        pool.ask()
        for question in questions:
            conditions, values = filters(query(question, wanted))
            text = statement.walked("embedding_a", conditions, 4 * NEAREST)
            values |= {"model": MODEL, "language": "en", "vector": Vector(question + mean)}
            begun = time.perf_counter()
            rows = pool.read(assertion, text, values, settings)
            spent.append((time.perf_counter() - begun) * 1e3)
            found.append([int(row[4]) - 1 for row in rows][:NEAREST])
    right = recall(found, corpus.truth(wanted, questions))
    print(f"  {name:36} recall@5 {right:.3f}  p50 {median(spent):7.2f} ms", flush=True)


@contextmanager
def _ivfflat(superuser: str, count: int) -> Iterator[None]:
    with psycopg.connect(superuser, autocommit=True) as connection:
        connection.execute("SET statement_timeout = 0")
        begun = time.perf_counter()
        connection.execute("BEGIN")
        connection.execute(
            sql.SQL(
                "CREATE INDEX bench_lists ON documents.vectors USING ivfflat"
                " (embedding_a pgvector.vector_cosine_ops) WITH (lists = {})"
            ).format(sql.Literal(count))
        )
        # Hidden from the planner, not dropped: building it again would take longer than all this.
        connection.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass",
            (f"documents.{INDEX}",),
        )
        connection.execute("COMMIT")
        say(f"  ivfflat with {count} lists built in {time.perf_counter() - begun:.0f} s")
        try:
            yield
        finally:
            connection.execute(
                "UPDATE pg_index SET indisvalid = true WHERE indexrelid = %s::regclass",
                (f"documents.{INDEX}",),
            )
            connection.execute("DROP INDEX documents.bench_lists")
