"""Migrations come in order, once each, and are never changed afterwards."""

import re

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


def test_the_committed_schema_only_adds() -> None:
    assert len(load()) >= 6


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("DROP TABLE a", "line 1 drops a table"),
        ("CREATE TABLE b ();\n-- later\nDROP VIEW c", "line 3 drops a view"),
        ("drop function f()", "line 1 drops a function"),
        ("DROP POLICY p ON t", "line 1 drops a policy"),
        ("ALTER TABLE t\n  DROP COLUMN c", "line 2 drops a column"),
        ("ALTER TABLE t ALTER c DROP DEFAULT", "line 1 takes a column's default away"),
        ("ALTER TABLE t RENAME TO u", "line 1 renames"),
        ("ALTER TABLE t RENAME COLUMN a TO b", "line 1 renames"),
        ("ALTER TABLE t ALTER COLUMN c TYPE bigint", "line 1 changes a column's type"),
        ("ALTER TABLE t ALTER c SET DATA TYPE text", "line 1 changes a column's type"),
        ("ALTER TABLE t ALTER COLUMN c SET NOT NULL", "asks for a value that was optional"),
        ("ALTER TABLE t ADD CONSTRAINT k CHECK (c > 0)", "adds a constraint"),
        ("ALTER TABLE t ADD COLUMN c int NOT NULL", "adds a column that needs a value"),
        ("REVOKE SELECT ON t FROM assistant", "takes a right away from a login role"),
        ("REVOKE ALL ON t FROM switchyard_owner, gateway", "takes a right away"),
        ("TRUNCATE t", "line 1 changes rows"),
        ("DELETE FROM t", "line 1 changes rows"),
        ("WITH old AS (SELECT 1) UPDATE t SET c = 1", "line 1 changes rows"),
        ("WITH gone AS (DELETE FROM t RETURNING 1)\nSELECT 1", "line 1 changes rows"),
        ("ALTER TABLE t DROP c", "line 1 drops a column"),
        ("ALTER TABLE t ADD b int,\n DROP IF EXISTS c", "drops a column"),
        ("ALTER TYPE t DROP ATTRIBUTE a", "drops a column"),
        ('ALTER TABLE t ALTER COLUMN "c" TYPE bigint', "line 1 changes a column's type"),
        ("ALTER TABLE t SET SCHEMA s", "line 1 renames"),
        ("ALTER TABLE t ADD c numeric(12, 2) NOT NULL", "adds a column that needs a value"),
        ("CREATE UNIQUE INDEX ON t (c)", "adds a constraint"),
        ("ALTER DOMAIN d ADD CHECK (value > 0)", "adds a constraint"),
        ("CREATE POLICY p ON t AS RESTRICTIVE USING (true)", "changes what a role may see"),
        ("ALTER POLICY p ON t USING (false)", "changes what a role may see"),
        ("ALTER ROLE assistant NOLOGIN", "takes a right away"),
        ("DO $$\nBEGIN\n  DROP TABLE a;\nEND $$", "line 3 drops a table"),
        ("DO $d$ BEGIN IF true THEN\nDELETE FROM t; END IF; END $d$", "line 2 changes rows"),
        ("DO $$ BEGIN EXECUTE 'TRUNCATE t'; END $$", "line 1 changes rows"),
        ("SELECT ';'; DROP TABLE a", "line 1 drops a table"),
    ],
)
def test_what_an_older_release_cannot_live_with_is_refused(sql: str, what: str) -> None:
    with pytest.raises(MigrationError, match=f"001_first.sql .*{re.escape(what)}.*only add"):
        ordered({"001_first": sql})


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE t ADD COLUMN c int",
        "ALTER TABLE t ADD COLUMN c int NOT NULL DEFAULT 0",
        "ALTER TABLE t ALTER COLUMN c DROP NOT NULL",
        "ALTER TABLE t ALTER c SET DEFAULT 1",
        "ALTER TABLE t DROP CONSTRAINT k",
        "ALTER TABLE t ADD c numeric(12, 2) NOT NULL DEFAULT 0, ADD d int",
        "CREATE INDEX ON t (c)",
        "DO $$ BEGIN IF NOT EXISTS (SELECT) THEN CREATE ROLE r; END IF; END $$",
        "DO $$ BEGIN EXECUTE format('GRANT CONNECT ON DATABASE %I TO r', 'd'); END $$",
        "DROP INDEX i",
        "REVOKE ALL ON FUNCTION f() FROM PUBLIC",
        "REVOKE CREATE ON SCHEMA s FROM switchyard_identity",
        "-- DROP TABLE a\n/* TRUNCATE t */ SELECT 'DROP TABLE a; DELETE FROM t'",
        "CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS $$ BEGIN DELETE FROM t; END $$",
        "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC DELETE FROM t; SELECT 1; END; SELECT 2",
        "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql RETURN 1",
        "GRANT DELETE ON t TO loader",
    ],
)
def test_what_only_adds_is_taken(sql: str) -> None:
    assert [step.sql for step in ordered({"001_first": sql})] == [sql]
