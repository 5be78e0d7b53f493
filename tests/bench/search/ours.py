"""Our search, as a customer's question runs it: a pool, an assertion, a transaction, row-level
security as the role `assistant`, and the passages' texts. `python -m … FOLDER THREADS`;
environment: DATABASE_URL, ASSERTION_KEY.
"""

import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from apps.retrieval.assertion import sign
from apps.retrieval.pool import Pool
from apps.retrieval.search import Query, search
from tests.bench.search.corpus import NEAREST, Corpus, Wanted
from tests.bench.search.database import MODEL
from tests.bench.search.serve import Ask, serve


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
    key = bytes.fromhex(os.environ["ASSERTION_KEY"])
    pool = Pool(os.environ["DATABASE_URL"], size=1, deadline_s=60, read_only=True)
    pool.open()
    pool.ask()

    def ask(question: Any, wanted: Wanted) -> list[int]:
        # The corpus' questions are centred already; the search takes the mean off again.
        text = query(question + mean, wanted)
        assertion = sign(key, "c-1002", "bench", int(time.time()) + 600)
        return [one.chunk - 1 for one in search(pool, assertion, text)]

    return {"ours": ask}


if __name__ == "__main__":
    serve(ways)
