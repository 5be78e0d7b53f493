"""Migrations come in order, once each, and are never changed afterwards."""

import pytest

from apps.retrieval.migration import MigrationError, load, ordered, pending

FILES = {"001_first": "SELECT 1", "002_second": "SELECT 2"}


def applied(files: dict[str, str]) -> dict[int, tuple[str, str]]:
    return {step.number: (step.name, step.sha256) for step in ordered(files)}


def test_files_are_taken_in_the_order_of_their_numbers() -> None:
    steps = ordered({"002_second": "b", "001_first": "a"})
    assert [(step.number, step.name, step.sql) for step in steps] == [
        (1, "001_first", "a"),
        (2, "002_second", "b"),
    ]


@pytest.mark.parametrize("name", ["003_gap", "002_second", "2_short", "001_Upper", "notes"])
def test_a_gap_a_double_and_a_bad_name_are_refused(name: str) -> None:
    with pytest.raises(MigrationError, match="out of order; name it"):
        ordered({"001_first": "", "001_again" if name == "002_second" else name: ""})


def test_what_was_applied_is_not_applied_again() -> None:
    steps = ordered(FILES)
    assert pending(steps, {}) == steps
    assert pending(steps, applied({"001_first": "SELECT 1"})) == steps[1:]
    assert pending(steps, applied(FILES)) == []


@pytest.mark.parametrize(
    "earlier", [{"001_first": "SELECT 1;"}, {"001_other": "SELECT 1"}, {**FILES, "001_first": ""}]
)
def test_a_file_changed_or_renamed_after_it_was_applied_is_refused(earlier: dict[str, str]) -> None:
    with pytest.raises(MigrationError, match=r"001_first\.sql changed after it was applied"):
        pending(ordered(FILES), applied(earlier))


def test_a_database_ahead_of_the_files_needs_nothing() -> None:
    assert pending(ordered(FILES), applied({**FILES, "003_later": "SELECT 3"})) == []


def test_the_committed_schema_only_expands() -> None:
    for step in load():
        for word in ("DROP TABLE", "DROP COLUMN", "RENAME", "DROP FUNCTION", "DROP VIEW"):
            assert word not in step.sql.upper(), step.name
