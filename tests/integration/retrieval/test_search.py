"""A search finds the nearest passages among those that the asker may read and asked for."""

from collections.abc import Callable, Iterator
from datetime import date
from typing import Any

import numpy as np
import psycopg
import pytest

from apps.retrieval.documents import replace
from apps.retrieval.pool import Pool, Settings
from apps.retrieval.search import BadQuery, NotReady, Passage, Query, search
from apps.retrieval.statement import (
    FEW_ROWS,
    GRAPH,
    MANY_ROWS,
    compared,
    walked,
)
from tests.integration.retrieval.reports import (
    MODEL,
    between,
    chunk,
    direction,
    document,
    vectors_of,
)

Search = Callable[..., list[Passage]]
READ = Pool.read
DEPARTMENT = ("v.department = ANY (%(departments)s)",)


@pytest.fixture
def loader(postgres: Any) -> Iterator[Any]:
    with psycopg.connect(postgres.url("loader"), autocommit=True) as connection:
        yield connection


@pytest.fixture
def find(postgres: Any) -> Iterator[Search]:
    with Pool(postgres.url("assistant"), size=1, read_only=True) as pool:

        def run(vector: Any, who: str = "c-1001", **filters: Any) -> list[Passage]:
            query = Query(vector, MODEL, filters.pop("language", "en"), **filters)
            return search(pool, postgres.assertion(who) if who else "", query)

        yield run


def store(connection: Any, name: str, seed: int, **more: Any) -> None:
    one = document(name, sha3=f"{seed:04x}" * 32, **more)
    replace(connection, one, vectors_of(one, seed), MODEL)


def numbers(passages: list[Passage]) -> list[tuple[str, str]]:
    return [(one.document, one.text) for one in passages]


def test_the_nearest_passage_comes_first_with_all_that_a_citation_needs(
    loader: Any, find: Search
) -> None:
    store(loader, "a.pdf", 0, chunks=3)
    store(loader, "b.pdf", 10, chunks=3, department="medical")
    found = find(between(direction(11), direction(1), 0.3))
    assert numbers(found)[:2] == [("b.pdf", "passage 1"), ("a.pdf", "passage 1")]
    first = found[0]
    assert first.score == pytest.approx(0.919, abs=0.02)
    assert (first.page, first.boxes[0]) == (
        2,
        {"page": 2, "x0": 72.0, "y0": 100.5, "x1": 523.0, "y1": 130.25},
    )
    assert (first.title, first.department, first.reported_on, first.section, first.own) == (
        "Title of b.pdf",
        "medical",
        date(2026, 3, 31),
        ["Chapter 1", "Part A"],
        False,
    )


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {"old", "new", "medical", "undated"}),
        ({"departments": ("financial",)}, {"old", "new", "undated"}),
        ({"departments": ("financial", "medical")}, {"old", "new", "medical", "undated"}),
        ({"departments": ("none",)}, set()),
        ({"since": date(2025, 6, 30)}, {"new", "medical"}),
        ({"until": date(2025, 6, 29)}, {"old"}),
        ({"since": date(2024, 1, 1), "until": date(2025, 6, 30)}, {"old", "new"}),
        ({"min_confidence": 0.9}, {"new", "medical", "undated"}),
        (
            {"min_confidence": 0.9, "departments": ("financial",), "since": date(2024, 1, 1)},
            {"new"},
        ),
        ({"since": date(2027, 1, 1)}, set()),
    ],
)
def test_each_filter_narrows_and_all_hold_at_once(
    loader: Any, find: Search, filters: dict[str, Any], expected: set[str]
) -> None:
    store(loader, "old", 0, chunks=[chunk(0, confidence=0.5)], report_date=date(2024, 3, 31))
    store(loader, "new", 1, chunks=1, report_date=date(2025, 6, 30))
    store(loader, "medical", 2, chunks=1, department="medical", report_date=date(2026, 1, 1))
    store(loader, "undated", 3, chunks=1, report_date=None)
    assert {one.document for one in find(direction(0), **filters)} == expected


def test_an_upload_is_found_by_its_owner_alone(loader: Any, find: Search) -> None:
    store(loader, "insurer.pdf", 0, chunks=1)
    store(loader, "mine.pdf", 1, chunks=1, owner="c-1001")
    store(loader, "theirs.pdf", 2, chunks=1, owner="c-1002")
    mine = find(direction(1), "c-1001")
    assert {(one.document, one.own) for one in mine} == {("insurer.pdf", False), ("mine.pdf", True)}
    assert {one.document for one in find(direction(1), "c-1002")} == {"insurer.pdf", "theirs.pdf"}
    assert {one.document for one in find(direction(1), "c-1003")} == {"insurer.pdf"}
    assert find(direction(1), "") == []


def store_near_and_far(loader: Any) -> None:
    """300 medical passages near direction 0, 20 financial ones far from it."""
    near = [between(direction(0), direction(1000 + n), 0.2) for n in range(300)]
    far = [between(direction(0), direction(2000 + n), 0.8) for n in range(20)]
    for name, department, vectors in (("n", "medical", near), ("f", "financial", far)):
        one = document(name, len(vectors), department=department)
        replace(loader, one, np.stack(vectors), MODEL)


# How many rows are few and many, so that 20 of 320 are compared at once, counted and compared, or
# left to the graph.
WAYS = {"compared": (500, 5_000), "counted": (5, 5_000), "walked": (5, 10)}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    few, many = WAYS[request.param]
    monkeypatch.setattr("apps.retrieval.search.FEW", few)
    monkeypatch.setattr("apps.retrieval.search.MANY", many)
    return str(request.param)


@pytest.mark.usefixtures("way")
def test_a_filter_that_hides_the_nearest_rows_still_gives_as_many_as_asked(
    loader: Any, find: Search
) -> None:
    # The graph by itself stops after 40 rows, which are all of the other department here.
    store_near_and_far(loader)
    found = find(direction(0), departments=("financial",), limit=10)
    assert len(found) == 10
    assert {one.department for one in found} == {"financial"}
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert len(find(direction(0), limit=200)) == 200


def test_the_way_is_chosen_by_how_many_rows_pass(
    loader: Any, find: Search, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_near_and_far(loader)
    asked = []

    def read(pool: Pool, assertion: str, text: bytes, values: Any, settings: Settings) -> Any:
        asked.append(settings)
        return READ(pool, assertion, text, values, settings)

    monkeypatch.setattr(Pool, "read", read)
    find(direction(0), departments=("financial",))
    settings = {
        "compared": [FEW_ROWS],
        "counted": [FEW_ROWS, FEW_ROWS, MANY_ROWS],
        "walked": [FEW_ROWS, FEW_ROWS, GRAPH],
    }
    assert asked == settings[way]


@pytest.mark.parametrize("many", [10, 5_000])
def test_vectors_that_move_to_the_other_column_meanwhile_are_not_mistaken(
    loader: Any, find: Search, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    store_near_and_far(loader)
    monkeypatch.setattr("apps.retrieval.search.FEW", 5)
    monkeypatch.setattr("apps.retrieval.search.MANY", many)

    def read(pool: Pool, *arguments: Any) -> Any:
        rows = READ(pool, *arguments)
        loader.execute("UPDATE documents.spaces SET slot = 'b'")
        return rows

    monkeypatch.setattr(Pool, "read", read)
    with pytest.raises(NotReady, match="moved to another column; ask again"):
        find(direction(0), departments=("financial",))


@pytest.mark.parametrize(
    ("settings", "text", "index"),
    [
        (FEW_ROWS, compared(DEPARTMENT, 5, 500), "Index Scan using vectors_filter"),
        (GRAPH, walked("embedding_a", DEPARTMENT, 5), "vectors_near_a"),
    ],
)
def test_the_plan_for_any_values_reads_the_index_that_the_way_is_about(
    loader: Any, postgres: Any, settings: Settings, text: bytes, index: str
) -> None:
    store_near_and_far(loader)
    plan = b"EXPLAIN (GENERIC_PLAN, COSTS OFF) "
    for at, name in enumerate(("vector", "model", "language", "departments"), start=1):
        text = text.replace(b"%%(%s)s" % name.encode(), b"$%d" % at)
    with psycopg.connect(postgres.url("assistant")) as connection:
        for name, value in settings.items():
            connection.execute("SELECT set_config(%s, %s, true)", (name, value))
        rows = connection.execute(plan + text).fetchall()
    assert index in str(rows)


def test_the_questions_words_decide_between_passages_that_are_about_as_near(
    loader: Any, find: Search
) -> None:
    texts = ("Total assets 1,200.00", "Total equity 900.00", "Total liabilities 300.00")
    one = document(chunks=[chunk(number, text) for number, text in enumerate(texts)])
    about = [between(direction(0), direction(number + 1), 0.3) for number in range(3)]
    replace(loader, one, np.stack(about), MODEL)
    question = between(direction(0), direction(1), 0.1)
    assert find(question)[0].text == "Total assets 1,200.00"
    by_words = find(question, words="What are the total liabilities?")
    assert by_words[0].text == "Total liabilities 300.00"
    # The score stays the cosine, by which what is far is told.
    assert by_words[0].score < by_words[1].score
    assert len(find(question, words="What are the total liabilities?", limit=1)) == 1
    assert find(question, words="?!")[0].text == "Total assets 1,200.00"


def test_no_rows_is_a_result(loader: Any, find: Search) -> None:
    store(loader, "empty.pdf", 0, chunks=0)
    assert find(direction(0)) == []


def test_before_anything_was_loaded_a_search_says_so(find: Search) -> None:
    with pytest.raises(NotReady, match="no vectors of a-model@1 are ready; load documents"):
        find(direction(0))


@pytest.mark.parametrize("bad", [0.0, float("nan"), float("inf")])
def test_a_question_without_a_direction_is_refused(loader: Any, find: Search, bad: float) -> None:
    store(loader, "a.pdf", 0)
    with pytest.raises(BadQuery, match="zero or not finite"):
        find(np.full(384, bad, np.float32))


def test_a_vector_of_another_length_is_refused(loader: Any, find: Search) -> None:
    store(loader, "a.pdf", 0)
    with pytest.raises(BadQuery, match="383 numbers, not 384"):
        find(np.ones(383, np.float32))


@pytest.mark.parametrize("limit", [0, -1, 201])
def test_a_limit_out_of_bounds_is_refused(limit: int) -> None:
    with pytest.raises(BadQuery, match="1 to 200 passages"):
        Query(direction(0), MODEL, "en", limit=limit)


@pytest.mark.parametrize("settings", [FEW_ROWS, MANY_ROWS, GRAPH])
def test_settings_that_a_search_makes_exist_and_end_with_its_transaction(
    postgres: Any, settings: Settings
) -> None:
    now = b"SELECT name, setting, reset_val FROM pg_settings"
    with Pool(postgres.url("assistant"), size=1, read_only=True) as pool:
        pool.read("", b"SELECT '[1]'::pgvector.vector", {})  # its settings are known from now on
        rows = pool.read("", now, {}, settings)
        during = {name: (value, reset) for name, value, reset in rows}
        after = {name: value for name, value, _ in pool.read("", now, {})}
    assert set(settings) <= set(during)
    for name, value in settings.items():
        assert during[name][0] == value, name
        assert after[name] == during[name][1], name


def test_hostile_filters_are_values(loader: Any, find: Search) -> None:
    store(loader, "a.pdf", 0)
    assert find(direction(0), departments=("'); DROP TABLE documents.chunks; --",)) == []
    assert find(direction(0), language="'") != []
