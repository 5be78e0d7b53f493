"""Our search, as a customer's question runs it: a pool, an assertion, a transaction, row-level
security as the role `assistant`, and the passages' texts; and what that is without a search.
`python -m … FOLDER THREADS`;
environment: DATABASE_URL, ASSERTION_KEY.
"""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from apps.retrieval.pool import Pool
from apps.retrieval.search import Query, search
from apps.retrieval.statement import FEW_ROWS
from tests.bench.search.corpus import NEAREST, Corpus, Wanted
from tests.bench.search.database import MODEL
from tests.bench.search.serve import Ask, Found, serve

KEY = bytes.fromhex(os.environ.get("ASSERTION_KEY", ""))


def query(question: Any, wanted: Wanted) -> Query:
    """The question with its filter, as the pipeline would ask it."""
    since, until = wanted.dates()
    return Query(
        question,
        MODEL,
        "en",
        departments=(f"d{wanted.department}",) if wanted.department >= 0 else (),
        since=since,
        until=until,
        min_confidence=wanted.confidence,
        limit=NEAREST,
    )


def ways(corpus: Corpus, threads: int) -> dict[str, Ask]:
    """One connection is one thread of the server's."""
    assert threads == 1
    mean = np.load(Path(sys.argv[1]) / "mean.npy")
    pool = Pool(os.environ["DATABASE_URL"], size=1, deadline_s=60, read_only=True)
    pool.open()
    pool.ask()

    def ask(assertion: str, question: Any, wanted: Wanted) -> list[Found]:
        # The corpus' questions are centred already; the search takes the mean off again.
        found = search(pool, assertion, query(question + mean, wanted))
        return [(one.chunk - 1, one.text, one.boxes) for one in found]

    def floor(assertion: str, question: Any, wanted: Wanted) -> list[Found]:
        pool.read(assertion, b"SELECT 1", {}, FEW_ROWS)
        return []

    return {"ours": ask, "our floor": floor}


if __name__ == "__main__":
    serve(ways, KEY)
