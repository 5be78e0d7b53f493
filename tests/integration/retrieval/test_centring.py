"""Two languages become comparable, and every chunk gets its vector of a new model."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import psycopg
import pytest

from apps.retrieval import space
from apps.retrieval.centring import FEW, centred, means, recentre
from apps.retrieval.documents import replace
from apps.retrieval.pool import Pool
from apps.retrieval.refill import BATCH, refill
from apps.retrieval.search import BadQuery, NotReady, Query, search
from apps.retrieval.vector import F32, Vector
from tests.integration.retrieval.reports import (
    MODEL,
    FakeEmbedder,
    chunk,
    direction,
    document,
    vectors_of,
)

LANGUAGES = {"zh": direction(9001), "en": direction(9002)}
# General questions: of their language, and of nothing in particular.
ASKED = {language: (0.9 * vector).astype(np.float32) for language, vector in LANGUAGES.items()}
QUESTIONS = {"zh": ("你好",), "en": ("hello",)}


def spoken(topic: int, language: str) -> F32:
    """What a model says that sees the language first: mostly the language, a little the topic."""
    vector = LANGUAGES[language] + 0.4 * direction(topic)
    return (vector / np.linalg.norm(vector)).astype(np.float32)


@pytest.fixture
def loader(postgres: Any) -> Iterator[Any]:
    with psycopg.connect(postgres.url("loader"), autocommit=True) as connection:
        yield connection


def find(postgres: Any, vector: F32, language: str, model: str = MODEL) -> list[tuple[str, str]]:
    with Pool(postgres.url("assistant"), size=1, read_only=True) as pool:
        found = search(pool, postgres.assertion("c-1001"), Query(vector, model, language))
        return [(one.language, one.text) for one in found]


def store_both_languages(loader: Any, topics: int) -> None:
    for language in LANGUAGES:
        one = document(f"{language}.pdf", topics, language=language)
        vectors = np.stack([spoken(topic, language) for topic in range(topics)])
        replace(loader, one, vectors, MODEL)


def test_a_question_finds_the_passage_of_the_other_language(loader: Any, postgres: Any) -> None:
    store_both_languages(loader, 60)
    question = spoken(7, "zh")
    assert {language for language, _ in find(postgres, question, "zh")} == {"zh"}
    assert recentre(loader, MODEL, ASKED) == {"en": 60, "zh": 60}
    assert set(find(postgres, question, "zh")[:2]) == {("zh", "passage 7"), ("en", "passage 7")}


def test_a_mean_that_hardly_moved_is_left_as_it_is(loader: Any) -> None:
    store_both_languages(loader, 60)
    recentre(loader, MODEL, ASKED)
    assert recentre(loader, MODEL, ASKED) == {}
    one = document("more.pdf", 1, language="en")
    replace(loader, one, np.stack([spoken(61, "en")]), MODEL)
    assert recentre(loader, MODEL, ASKED) == {}


def test_what_is_stored_after_the_mean_is_centred_by_it(loader: Any, postgres: Any) -> None:
    store_both_languages(loader, 60)
    recentre(loader, MODEL, ASKED)
    one = document("more.pdf", [chunk(0, "the new one")], language="en")
    replace(loader, one, np.stack([spoken(99, "en")]), MODEL)
    assert find(postgres, spoken(99, "zh"), "zh")[0] == ("en", "the new one")


def test_a_mean_of_few_chunks_counts_little_and_none_becomes_zero(
    loader: Any, postgres: Any
) -> None:
    one = document(chunks=1)
    replace(loader, one, vectors_of(one), MODEL)
    recentre(loader, MODEL, ASKED)
    mean = means(loader, MODEL)["en"]
    assert np.linalg.norm(mean) == pytest.approx(1 / (1 + FEW), rel=1e-4)
    assert find(postgres, direction(0), "en") == [("en", "passage 0")]


@pytest.mark.parametrize("length", [0.5, 1, 3])
def test_a_question_is_centred_at_the_length_that_the_model_gave_it(
    loader: Any, postgres: Any, length: float
) -> None:
    store_both_languages(loader, 60)
    recentre(loader, MODEL, ASKED)
    vector = (length * spoken(7, "en")).astype(np.float32)
    middle = loader.execute(
        "SELECT (mean OPERATOR(pgvector.+) asked)::real[] FROM documents.means"
        " WHERE language = 'en'"
    ).fetchone()[0]
    expected = centred(vector, np.array(middle, np.float32) / 2)
    with Pool(postgres.url("assistant"), size=1, read_only=True) as pool:
        first = search(pool, postgres.assertion("c-1001"), Query(vector, MODEL, "en"))[0]
    stored = loader.execute(
        "SELECT embedding_a::real[] FROM documents.vectors WHERE chunk = %s", (first.chunk,)
    ).fetchone()[0]
    assert first.score == pytest.approx(float(expected @ np.array(stored)), abs=1e-5)


def test_a_question_that_is_only_what_its_language_has_in_common_is_refused(
    loader: Any, postgres: Any
) -> None:
    store_both_languages(loader, 1)
    loader.execute(
        "INSERT INTO documents.means (model, language, mean, asked)"
        " VALUES (%s, 'en', %s::pgvector.vector, %s::pgvector.vector)",
        (MODEL, Vector(direction(3)), Vector(direction(3))),
    )
    with pytest.raises(BadQuery, match="it asks for nothing"):
        find(postgres, direction(3), "en")


def test_uploads_do_not_move_the_mean(loader: Any) -> None:
    store_both_languages(loader, 60)
    recentre(loader, MODEL, ASKED)
    before = means(loader, MODEL)["en"]
    one = document("upload.pdf", 200, owner="c-1001")
    replace(loader, one, vectors_of(one, 5000), MODEL)
    recentre(loader, MODEL, ASKED)
    assert np.array_equal(means(loader, MODEL)["en"], before)


def test_a_new_model_is_filled_beside_the_old_one_and_then_searched(
    loader: Any, postgres: Any
) -> None:
    store_both_languages(loader, 60)
    recentre(loader, MODEL, ASKED)
    asked: list[str] = []

    def embed(texts: Sequence[str]) -> F32:
        asked.extend(texts)
        if len(asked) > BATCH:
            raise RuntimeError("ended in the middle")
        # The old column is searched while the new one is filled, and the new one is not.
        assert find(postgres, spoken(7, "en"), "en")[0][1] == "passage 7"
        with pytest.raises(NotReady):
            find(postgres, direction(0), "en", "new@1")
        return vectors_of(document(chunks=len(texts)), 300)

    with pytest.raises(RuntimeError):
        refill(loader, FakeEmbedder("new@1", embed), QUESTIONS)
    with pytest.raises(NotReady):
        find(postgres, direction(0), "en", "new@1")
    rest = FakeEmbedder("new@1", lambda texts: vectors_of(document(chunks=len(texts)), 700))
    assert refill(loader, rest, QUESTIONS) == 120 - BATCH
    assert refill(loader, rest, QUESTIONS) == 0
    assert find(postgres, direction(702), "en", "new@1")[0] == ("en", "passage 6")
    assert find(postgres, spoken(7, "en"), "en")[0][1] == "passage 7"


def test_a_retired_models_column_can_be_taken_by_another(loader: Any, postgres: Any) -> None:
    one = document()
    for model in ("first", "second"):
        replace(loader, one, vectors_of(one), model)
    space.retire(loader, "first")
    third = FakeEmbedder("third", lambda texts: vectors_of(document(chunks=len(texts)), 90))
    refill(loader, third, QUESTIONS)
    assert {(one.column, one.model) for one in space.spaces(loader)} == {
        ("embedding_a", "third"),
        ("embedding_b", "second"),
    }
    assert find(postgres, direction(91), "en", "third")[0] == ("en", "passage 1")
    with pytest.raises(space.NoSpace, match="no column holds first"):
        space.retire(loader, "first")


def test_the_columns_are_told_and_retired_from_a_terminal(
    loader: Any, postgres: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one = document()
    replace(loader, one, vectors_of(one), MODEL)
    space.claim(loader, "other")
    monkeypatch.setenv("DATABASE_URL", postgres.url("loader"))
    assert space.main([]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"embedding_a  ready  {MODEL}",
        "embedding_b  filling  other",
    ]
    assert space.main(["retire", "other"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"embedding_a  ready  {MODEL}"]
    assert space.main(["retire", "other"]) == 1
    assert capsys.readouterr().err == (
        "space: no column holds other; see python -m apps.retrieval.space\n"
    )
    with pytest.raises(SystemExit, match="2"):
        space.main(["drop"])
