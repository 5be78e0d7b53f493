"""The process of one contestant: it asks the questions that the lines of its input name.

Imported by the peers' interpreter too: it needs the standard library and numpy only.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from time import perf_counter, time
from typing import Any, Protocol

from apps.retrieval.assertion import sign
from tests.bench.search.corpus import FILTERS, Corpus, Wanted, load

KEY = bytes(32)
"""Of the peers; ours has the database's."""
Found = tuple[int, str, list[dict[str, Any]]]
"""A row, its text and its boxes."""


class Ask(Protocol):
    """Who asks, a question f32 [384] and a filter to the nearest rows that pass, nearest first. An
    assertion that is not signed finds nothing."""

    def __call__(self, assertion: str, question: Any, wanted: Wanted) -> list[Found]: ...


def serve(build: Callable[[Corpus, int], Mapping[str, Ask]], key: bytes = KEY) -> None:
    """Build the ways to search FOLDER's corpus with THREADS; say {"ways", "built_s"}; then for
    each {"do": "ask", "way", "filter", "begin", "end"} say {"ms": [of each question],
    "found": [rows of each question]}."""
    corpus = load(Path(sys.argv[1]))
    begun = perf_counter()
    ways = build(corpus, int(sys.argv[2]))
    _say({"ways": list(ways), "built_s": perf_counter() - begun})
    for line in sys.stdin:
        order = json.loads(line)
        ask, wanted = ways[order["way"]], FILTERS[order["filter"]]
        spent, found = [], []
        assertion = sign(key, "c-1002", "bench", int(time()) + 600)
        for question in corpus.questions[order["begin"] : order["end"]]:
            begun = perf_counter()
            passages = ask(assertion, question, wanted)
            spent.append((perf_counter() - begun) * 1e3)
            found.append([row for row, _, _ in passages])
        _say({"ms": spent, "found": found})


def _say(figures: dict[str, Any]) -> None:
    print(json.dumps(figures), flush=True)
