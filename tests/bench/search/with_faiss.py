"""FAISS, run by the peers' interpreter: `python -m … FOLDER THREADS`.

HNSW, first searched and then filtered (100 candidates); HNSW with an IDSelector; a flat index with
an IDSelector. FAISS has no columns and no texts, so the filter is numpy's and the passages are a
list in memory, in the time measured.
"""

from collections.abc import Callable
from time import time
from typing import Any

import faiss
import numpy as np

from apps.retrieval.assertion import verify
from tests.bench.search.corpus import (
    BOXES,
    BUILD,
    DIMENSIONS,
    NEAREST,
    SEARCH,
    TEXT,
    Corpus,
    M,
    Wanted,
)
from tests.bench.search.serve import KEY, Ask, Found, serve

CANDIDATES = 100


def ways(corpus: Corpus, threads: int) -> dict[str, Ask]:
    faiss.omp_set_num_threads(threads)
    flat = faiss.IndexFlatIP(DIMENSIONS)
    flat.add(corpus.vectors)
    graph = faiss.IndexHNSWFlat(DIMENSIONS, M, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = BUILD
    graph.hnsw.efSearch = SEARCH
    graph.add(corpus.vectors)

    passages = [(row, TEXT, BOXES) for row in range(len(corpus.vectors))]

    def after(assertion: str, question: Any, wanted: Wanted) -> list[Found]:
        verify(KEY, assertion, time())
        mask = corpus.passes(wanted)
        _, found = graph.search(question[None], CANDIDATES)
        return [passages[one] for one in found[0] if one >= 0 and mask[one]][:NEAREST]

    def selected(index: Any, parameters: Callable[[Any], Any]) -> Ask:
        def ask(assertion: str, question: Any, wanted: Wanted) -> list[Found]:
            verify(KEY, assertion, time())
            # A bitmap is FAISS's quickest selector for a mask.
            bits = np.packbits(corpus.passes(wanted), bitorder="little")
            selector = faiss.IDSelectorBitmap(bits)
            _, found = index.search(question[None], NEAREST, params=parameters(selector))
            return [passages[one] for one in found[0] if one >= 0]

        return ask

    return {
        "faiss, then filter": after,
        "faiss HNSW, IDSelector": selected(
            graph, lambda selector: faiss.SearchParametersHNSW(sel=selector, efSearch=SEARCH)
        ),
        "faiss flat, IDSelector": selected(
            flat, lambda selector: faiss.SearchParameters(sel=selector)
        ),
    }


if __name__ == "__main__":
    serve(ways)
