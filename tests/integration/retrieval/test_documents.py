"""A document is in the database whole, once, and in its newest version, or it is not there."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import psycopg
import pytest

from apps.retrieval.documents import BadDocument, known, remove, replace
from apps.retrieval.space import NoSpace
from tests.integration.retrieval.reports import MODEL, chunk, document, vectors_of


@pytest.fixture
def loader(postgres: Any) -> Iterator[Any]:
    with psycopg.connect(postgres.url("loader"), autocommit=True) as connection:
        yield connection


def count(connection: Any) -> dict[str, int]:
    tables = ("documents", "chunks", "embeddings", "vectors")
    return {
        name: connection.execute(f"SELECT count(*) FROM documents.{name}").fetchone()[0]
        for name in tables
    }


def test_a_document_is_stored_with_all_that_belongs_to_it(loader: Any) -> None:
    one = document(chunks=[chunk(0, "总资产 1,234.50", section=("第一章",)), chunk(1)])
    stored = replace(loader, one, vectors_of(one), MODEL)
    assert (stored.outcome, stored.chunks) == ("added", 2)
    row = loader.execute(
        "SELECT d.name, d.report, c.text, c.section, c.boxes, c.metadata, v.department"
        "  FROM documents.documents d JOIN documents.chunks c ON c.document = d.id"
        "  JOIN documents.vectors v ON v.chunk = c.id WHERE c.number = 0"
    ).fetchone()
    assert row == (
        "report.pdf",
        {"pages": 4, "skipped": {"cover": 1}},
        "总资产 1,234.50",
        ["第一章"],
        [{"page": 1, "x0": 72.0, "y0": 100.5, "x1": 523.0, "y1": 130.25}],
        {"table": None},
        "financial",
    )
    assert count(loader) == {"documents": 1, "chunks": 2, "embeddings": 2, "vectors": 2}


def test_loading_the_same_again_changes_nothing(loader: Any) -> None:
    one = document()
    first = replace(loader, one, vectors_of(one), MODEL)
    again = replace(loader, one, vectors_of(one), MODEL)
    assert (again.id, again.outcome) == (first.id, "unchanged")


def test_a_newer_version_replaces_the_older_whole(loader: Any) -> None:
    replace(loader, document(chunks=5), vectors_of(document(chunks=5)), MODEL)
    newer = document(chunks=2, sha3="ab" * 64)
    assert replace(loader, newer, vectors_of(newer, 50), MODEL).outcome == "replaced"
    assert count(loader) == {"documents": 1, "chunks": 2, "embeddings": 2, "vectors": 2}


@pytest.mark.parametrize(
    "change",
    [{"department": "medical"}, {"title": "Another"}, {"report_date": None}, {"owner": "c-1001"}],
)
def test_what_is_known_of_a_document_counts_as_its_content(loader: Any, change: Any) -> None:
    one, other = document(), document(**change)
    replace(loader, one, vectors_of(one), MODEL)
    outcome = replace(loader, other, vectors_of(other), MODEL).outcome
    assert outcome == ("added" if "owner" in change else "replaced")


def test_equal_names_of_two_owners_are_two_documents(loader: Any) -> None:
    for owner in (None, "c-1001", "c-1002"):
        one = document(owner=owner)
        assert replace(loader, one, vectors_of(one), MODEL).outcome == "added"
    assert remove(loader, "report.pdf", "c-1001")
    assert not remove(loader, "report.pdf", "c-1001")
    assert count(loader)["documents"] == 2


def test_a_file_that_is_there_is_known_by_content_name_owner_and_model(loader: Any) -> None:
    one = document()
    replace(loader, one, vectors_of(one), MODEL)
    assert known(loader, one.sha3, one.name, None, MODEL)
    assert not known(loader, "ab" * 64, one.name, None, MODEL)
    assert not known(loader, one.sha3, "other.pdf", None, MODEL)
    assert not known(loader, one.sha3, one.name, "c-1001", MODEL)
    assert not known(loader, one.sha3, one.name, None, "another-model")


def test_an_owner_that_is_no_customer_is_refused_and_leaves_nothing(loader: Any) -> None:
    one = document(owner="nobody")
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        replace(loader, one, vectors_of(one), MODEL)
    assert count(loader)["documents"] == 0


def test_a_failure_in_the_middle_leaves_the_older_version_whole(loader: Any) -> None:
    old = document()
    replace(loader, old, vectors_of(old), MODEL)
    bad = document(chunks=[chunk(0), chunk(1, kind="picture")], sha3="cd" * 64)
    with pytest.raises(psycopg.errors.CheckViolation):
        replace(loader, bad, vectors_of(bad), MODEL)
    assert known(loader, old.sha3, old.name, None, MODEL)
    assert count(loader) == {"documents": 1, "chunks": 3, "embeddings": 3, "vectors": 3}


def test_two_loads_of_one_name_at_once_leave_one_of_them(postgres: Any) -> None:
    def load(number: int) -> str:
        one = document(sha3=f"{number:02x}" * 64)
        with psycopg.connect(postgres.url("loader"), autocommit=True) as connection:
            return replace(connection, one, vectors_of(one, number * 10), MODEL).outcome

    with ThreadPoolExecutor(6) as threads:
        outcomes = sorted(threads.map(load, range(6)))
    assert outcomes == ["added"] + ["replaced"] * 5
    with psycopg.connect(postgres.superuser_url) as connection:
        assert count(connection) == {"documents": 1, "chunks": 3, "embeddings": 3, "vectors": 3}


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (np.zeros((3, 384), np.float32), "vector of chunk 0 is zero or not finite"),
        (np.full((3, 384), np.nan, np.float32), "zero or not finite"),
        (np.full((3, 384), np.inf, np.float32), "zero or not finite"),
        (np.ones((2, 384), np.float32), "3 chunks but vectors of shape"),
        (np.ones(384, np.float32), "3 chunks but vectors of shape"),
    ],
)
def test_vectors_that_point_nowhere_are_refused(loader: Any, bad: Any, why: str) -> None:
    with pytest.raises(BadDocument, match=why):
        replace(loader, document(), bad, MODEL)
    assert count(loader)["documents"] == 0


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (chunk(0, "a\0b"), "chunk 0 has a NUL character"),
        (chunk(0, boxes=()), "chunk 0 has no box"),
        (chunk(1), "not numbered 0, 1, 2"),
    ],
)
def test_a_chunk_that_cannot_be_kept_or_cited_is_refused(loader: Any, bad: Any, why: str) -> None:
    one = document(chunks=[bad])
    with pytest.raises(BadDocument, match=why):
        replace(loader, one, vectors_of(one), MODEL)


def test_a_document_without_chunks_is_stored_as_such(loader: Any) -> None:
    one = document(chunks=0)
    stored = replace(loader, one, np.zeros((0, 384), np.float32), MODEL)
    assert (stored.outcome, stored.chunks) == ("added", 0)
    assert known(loader, one.sha3, one.name, None, MODEL)


def test_a_second_models_vectors_come_beside_the_first_ones(loader: Any) -> None:
    one = document()
    first = replace(loader, one, vectors_of(one), "first")
    second = replace(loader, one, vectors_of(one, 40), "second")
    assert (second.id, second.outcome) == (first.id, "unchanged")
    assert count(loader) == {"documents": 1, "chunks": 3, "embeddings": 6, "vectors": 3}
    assert all(known(loader, one.sha3, one.name, None, model) for model in ("first", "second"))


def test_a_third_model_is_told_that_no_column_is_free(loader: Any) -> None:
    one = document()
    for model in ("first", "second"):
        replace(loader, one, vectors_of(one), model)
    with pytest.raises(NoSpace, match=r"retire first \| second"):
        replace(loader, one, vectors_of(one), "third")
    assert count(loader)["chunks"] == 3
