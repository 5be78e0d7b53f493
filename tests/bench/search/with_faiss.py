"""FAISS, run by the peers' interpreter: `python -m … FOLDER THREADS`.

HNSW, first searched and then filtered (100 candidates); HNSW with an IDSelector; a flat index with
an IDSelector. FAISS has no columns, so the filter is numpy's, in the time measured.
"""

from collections.abc import Callable
from typing import Any

import faiss
import numpy as np

from tests.bench.search.corpus import BUILD, DIMENSIONS, NEAREST, SEARCH, Corpus, M, Wanted
from tests.bench.search.serve import Ask, serve

CANDIDATES = 100


def ways(corpus: Corpus, threads: int) -> dict[str, Ask]:
    faiss.omp_set_num_threads(threads)
    flat = faiss.IndexFlatIP(DIMENSIONS)
    flat.add(corpus.vectors)
    graph = faiss.IndexHNSWFlat(DIMENSIONS, M, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = BUILD
    graph.hnsw.efSearch = SEARCH
    graph.add(corpus.vectors)

    def after(question: Any, wanted: Wanted) -> list[int]:
        mask = corpus.passes(wanted)
        _, found = graph.search(question[None], CANDIDATES)
        return [int(one) for one in found[0] if one >= 0 and mask[one]][:NEAREST]

    def selected(index: Any, parameters: Callable[[Any], Any]) -> Ask:
        def ask(question: Any, wanted: Wanted) -> list[int]:
            # A bitmap is FAISS's quickest selector for a mask.
            bits = np.packbits(corpus.passes(wanted), bitorder="little")
            selector = faiss.IDSelectorBitmap(bits)
            _, found = index.search(question[None], NEAREST, params=parameters(selector))
            return [int(one) for one in found[0] if one >= 0]

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
