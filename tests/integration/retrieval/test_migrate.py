"""Migrating is safe to repeat, to run twice at once, and to get wrong."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from apps.retrieval.migrate import migrate
from apps.retrieval.migration import MigrationError, load

TOKEN = "a-token-of-this-test"


@dataclass
class Fresh:
    """A database of its own on the running server."""

    url: str
    postgres: Any

    def migrate(self, tokens: dict[str, str] | None = None, **options: Any) -> list[str]:
        key = self.postgres.assertion_key
        return migrate(self.url, self.postgres.passwords, key, tokens or {}, **options)

    def command(self, *arguments: str, **changes: str) -> subprocess.CompletedProcess[str]:
        passwords = {f"PASSWORD_{k.upper()}": v for k, v in self.postgres.passwords.items()}
        key = {"ASSERTION_KEY": self.postgres.assertion_key.hex()}
        env = {"PATH": os.environ["PATH"], "DATABASE_URL": self.url, **passwords, **key, **changes}
        return subprocess.run(
            [sys.executable, "-m", "apps.retrieval.migrate", "--wait", "0", *arguments],
            env=env,
            capture_output=True,
            text=True,
            timeout=60,
            cwd=Path(__file__).parents[3],
            check=False,
        )

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.url) as connection:
            return connection.execute(query).fetchall()


@pytest.fixture
def fresh(postgres: Any) -> Iterator[Fresh]:
    url = postgres.server.url("postgres", postgres.superuser_password, "switchyard_fresh")
    yield Fresh(url, postgres)
    with psycopg.connect(postgres.superuser_url, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS switchyard_fresh WITH (FORCE)")


def contents(fresh: Fresh) -> list[Any]:
    tables = fresh.rows(
        "SELECT n.nspname || '.' || c.relname FROM pg_class AS c"
        "  JOIN pg_namespace AS n ON n.oid = c.relnamespace"
        " WHERE c.relkind = 'r' AND n.nspname IN ('identity', 'insurance', 'medical', 'tickets',"
        "       'documents', 'migration') ORDER BY 1"
    )
    return [(name, sorted(map(str, fresh.rows(f"SELECT * FROM {name}")))) for (name,) in tables]


def test_a_second_run_changes_nothing(fresh: Fresh) -> None:
    names = [migration.name for migration in load()]
    assert fresh.migrate({TOKEN: "c-1001"}) == names
    before = contents(fresh)
    assert fresh.migrate({TOKEN: "c-1001"}) == []
    assert contents(fresh) == before


def test_four_at_once_apply_each_file_once(fresh: Fresh) -> None:
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(lambda _: fresh.migrate(), range(4)))
    applied = [name for result in results for name in result]
    assert sorted(applied) == [migration.name for migration in load()]


def test_a_file_changed_after_it_was_applied_is_refused_in_one_line(fresh: Fresh) -> None:
    fresh.migrate()
    with psycopg.connect(fresh.url) as connection:
        connection.execute("UPDATE migration.applied SET sha256 = 'other' WHERE number = 2")
    done = fresh.command()
    assert done.returncode == 1
    assert done.stderr == (
        "migrate: 002_identity.sql changed after it was applied as 002_identity; "
        "restore it and add a new file\n"
    )


def test_a_file_that_fails_leaves_nothing_of_itself(
    fresh: Fresh, monkeypatch: pytest.MonkeyPatch
) -> None:
    from apps.retrieval import migrate as module
    from apps.retrieval.migration import Migration

    bad = Migration(len(load()) + 1, "999_bad", "CREATE TABLE public.half (x int);\nSELEC 1;")
    monkeypatch.setattr(module, "load", lambda: [*load(), bad])
    with pytest.raises(MigrationError, match=r"999_bad.sql line 2 failed, rolled back: syntax"):
        fresh.migrate()
    assert fresh.rows("SELECT to_regclass('public.half')") == [(None,)]
    assert fresh.rows("SELECT count(*) FROM migration.applied") == [(len(load()),)]


def test_a_database_ahead_of_these_files_is_left_as_it_is(fresh: Fresh) -> None:
    fresh.migrate()
    with psycopg.connect(fresh.url) as connection:
        connection.execute("INSERT INTO migration.applied VALUES (900, '900_later', 'x')")
    assert fresh.migrate() == []


def test_tokens_of_a_named_customer_are_replaced_and_kept_as_hashes(fresh: Fresh) -> None:
    fresh.migrate({TOKEN: "c-1001", "another-token-0001": "c-1002"})
    fresh.migrate({"a-newer-token-0001": "c-1001"})
    expected = {
        (hashlib.sha256(b"another-token-0001").digest(), "c-1002"),
        (hashlib.sha256(b"a-newer-token-0001").digest(), "c-1001"),
    }
    assert set(fresh.rows("SELECT sha256, customer FROM identity.tokens")) == expected


def test_without_the_demo_customers_only_the_synthetic_are_seeded(fresh: Fresh) -> None:
    fresh.migrate(demo=False)
    assert fresh.rows("SELECT id, synthetic FROM identity.customers ORDER BY id") == [
        ("s-en", True),
        ("s-zh", True),
    ]


def test_the_command_reads_tokens_and_says_what_it_did(fresh: Fresh, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    file.write_text(json.dumps({TOKEN: "c-1001"}))
    done = fresh.command("--tokens", str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        *[f"applied {migration.name}" for migration in load()],
        "the database is up to date; 1 tokens set",
    ]


@pytest.mark.parametrize(
    ("tokens", "changes", "why"),
    [
        ("{", {}, "the body is not JSON"),
        ('{"short": "c-1001"}', {}, "token 1 is not 16 to 200"),
        (f'{{"{TOKEN}": "nobody"}}', {}, "unknown customer nobody"),
        (f'{{"{TOKEN}": 1}}', {}, "token 1 does not name a customer"),
        ("{}", {"PASSWORD_GATEWAY": ""}, "PASSWORD_GATEWAY is missing"),
        ("{}", {"ASSERTION_KEY": "00"}, "64 hex digits"),
        ("{}", {"DATABASE_URL": "postgresql://postgres@127.0.0.1:1/x"}, "refused"),
        ("{}", {"DATABASE_URL": "postgresql://%"}, "invalid"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(
    fresh: Fresh, tmp_path: Path, tokens: str, changes: dict[str, str], why: str
) -> None:
    fresh.migrate()
    before = contents(fresh)
    file = tmp_path / "tokens.json"
    file.write_text(tokens)
    done = fresh.command("--tokens", str(file), **changes)
    assert done.returncode == 1
    assert why in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert TOKEN not in done.stderr
    assert contents(fresh) == before


def test_the_seeds_table_says_who_is_there_and_who_is_synthetic(fresh: Fresh) -> None:
    fresh.migrate()
    readme = Path(__file__).parents[3] / "apps" / "retrieval" / "seed" / "README.md"
    table = [
        [cell.strip(" `") for cell in line.split("|")[1:5]]
        for line in readme.read_text().splitlines()
        if line.startswith("| `")
    ]
    rows = fresh.rows("SELECT id, name, language, synthetic FROM identity.customers ORDER BY id")
    assert sorted(table) == [
        [who, name, language, "yes" if synthetic else "no"]
        for who, name, language, synthetic in rows
    ]
