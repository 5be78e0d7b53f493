"""Requests for vectors are computed together and answered apart."""

from collections.abc import Sequence

import numpy as np
import pytest

from apps.embedder import Embedded, Kind
from apps.pipeline.embedding import Wish, grant


class Recorder:
    """Gives text number n of a call the vector [n, n]."""

    def __init__(self) -> None:
        self.calls: list[tuple[Kind, list[str]]] = []

    def __call__(self, texts: Sequence[str], kind: Kind) -> Embedded:
        self.calls.append((kind, list(texts)))
        numbers = np.arange(len(texts))
        vectors = np.repeat(numbers[:, None], 2, axis=1).astype(np.float32)
        return Embedded(vectors, numbers.astype(np.int32), numbers.astype(np.int32))


def test_one_call_a_kind_and_to_each_its_own() -> None:
    embed = Recorder()
    granted = grant(
        [Wish(("a", "b"), "query"), Wish(("c",), "passage"), Wish(("d",), "query")], embed
    )
    assert embed.calls == [("query", ["a", "b", "d"]), ("passage", ["c"])]
    rows = [each.tokens.tolist() for each in granted if isinstance(each, Embedded)]
    assert rows == [[0, 1], [0], [2]]


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        (Wish(("a", "\u3000\n"), "query"), "empty"),
        (Wish(("a", "\u200b"), "query"), "empty"),
        (Wish(("a",), "passage and query"), "query or passage"),
        (Wish(("a",), ""), "query or passage"),
    ],
)
def test_a_bad_wish_spoils_no_other(wish: Wish, why: str) -> None:
    embed = Recorder()
    bad, good = grant([wish, Wish(("a",), "query")], embed)
    assert isinstance(bad, str)
    assert why in bad
    assert isinstance(good, Embedded)
    assert embed.calls == [("query", ["a"])]
