"""The engine of Qdrant's server in this process (the package qdrant-edge-py), without the server's
network; run by the peers' interpreter: `python -m … FOLDER THREADS`.

Payload indexes are made before the points come and the graph is built before the questions.
"""

import tempfile
from time import time
from typing import Any

import qdrant_edge as q

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


def ways(corpus: Corpus, threads: int) -> dict[str, Ask]:
    graph = q.HnswIndexConfig(M, BUILD, full_scan_threshold=10_000)
    config = q.EdgeConfig(
        vectors=q.EdgeVectorParams(DIMENSIONS, q.Distance.Dot, hnsw_config=graph),
        optimizers=q.EdgeOptimizersConfig(default_segment_number=1, indexing_threshold=1000),
        max_search_threads=threads,
    )
    # Kept until this process ends.
    shard = q.EdgeShard.create(tempfile.mkdtemp(prefix="switchyard-qdrant-"), config)
    kinds = {"department": "Integer", "day": "Integer", "confidence": "Float", "foreign": "Integer"}
    for name, kind in kinds.items():
        schema = getattr(q.PayloadSchemaType, kind)
        shard.update(q.UpdateOperation.create_field_index(name, schema))
    for begin in range(0, len(corpus.vectors), 1000):
        rows = range(begin, min(begin + 1000, len(corpus.vectors)))
        points = [
            q.Point(
                row,
                corpus.vectors[row].tolist(),
                {
                    "department": int(corpus.departments[row]),
                    "day": int(corpus.days[row]),
                    "confidence": float(corpus.confidences[row]),
                    "foreign": int(corpus.foreign[row]),
                    "text": TEXT,
                    "boxes": BOXES,
                },
            )
            for row in rows
        ]
        shard.update(q.UpdateOperation.upsert_points(points))
    shard.optimize()

    def ask(assertion: str, question: Any, wanted: Wanted) -> list[Found]:
        verify(KEY, assertion, time())
        days = q.RangeFloat(gte=float(wanted.since), lt=float(wanted.until))
        must = [
            q.FieldCondition("foreign", match=q.MatchValue(0)),
            q.FieldCondition("day", range=days),
        ]
        if wanted.department >= 0:
            match = q.MatchValue(wanted.department)
            must.append(q.FieldCondition("department", match=match))
        if wanted.confidence > 0:
            least = q.RangeFloat(gte=wanted.confidence)
            must.append(q.FieldCondition("confidence", range=least))
        request = q.QueryRequest(
            limit=NEAREST,
            query=q.Query.Nearest(question.tolist()),
            with_payload=q.PayloadSelector.Include(["text", "boxes"]),
            filter=q.Filter(must=must),
            params=q.SearchParams(hnsw_ef=SEARCH),
        )
        found = shard.query(request)
        return [(int(one.id), one.payload["text"], one.payload["boxes"]) for one in found]

    return {"qdrant engine": ask}


if __name__ == "__main__":
    serve(ways)
