"""Bring the database up to date: schema, passwords, assertion key, seed and bearer tokens.

Safe to run again and to run twice at once: an advisory lock lets one work at a time, and what
is already so stays so. Environment: DATABASE_URL (of the superuser), PASSWORD_GATEWAY,
PASSWORD_ASSISTANT, PASSWORD_TICKETS, PASSWORD_LOADER, ASSERTION_KEY (64 hex digits).
"""

import argparse
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from apps.retrieval.assertion import BadAssertion, key_from_hex
from apps.retrieval.configuration import LOGIN_ROLES
from apps.retrieval.credentials import Connection, set_key, set_passwords, set_tokens
from apps.retrieval.migration import MigrationError, load, pending
from apps.retrieval.tokens import parse
from apps.strict_json import BadJSON

LOCK = 7_305_001
LOCK_WAIT = "120s"
SEED = Path(__file__).parent / "seed"

_BOOK = """
CREATE SCHEMA IF NOT EXISTS migration;
CREATE TABLE IF NOT EXISTS migration.applied (
  number integer PRIMARY KEY,
  name text NOT NULL,
  sha256 text NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now());
"""


def migrate(
    url: str,
    passwords: Mapping[str, str],
    key: bytes,
    tokens: Mapping[str, str],
    *,
    demo: bool = True,
    wait_s: float = 0,
) -> list[str]:
    """Bring the database at `url` up to date; return the names of the migrations applied.

    `passwords` is {login role: password}; `key` signs assertions; `tokens` is {bearer token:
    customer} and replaces the tokens of each customer it names; `demo` also seeds the example
    customers; `wait_s` is how long to wait for the server (seconds).
    """
    _create_database(url, wait_s)
    with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
        _lock(connection)
        connection.execute(_BOOK)
        rows = connection.execute("SELECT number, name, sha256 FROM migration.applied").fetchall()
        todo = pending(load(), {int(str(n)): (str(name), str(sha)) for n, name, sha in rows})
        for migration in todo:
            _apply(connection, migration.sql, migration.name, (migration.number, migration.sha256))
        with connection.transaction():
            set_passwords(connection, passwords)
            set_key(connection, key)
            for name in ("synthetic.sql", "demo.sql") if demo else ("synthetic.sql",):
                connection.execute((SEED / name).read_bytes())
            set_tokens(connection, tokens)
    return [migration.name for migration in todo]


def _create_database(url: str, wait_s: float) -> None:
    name = str(conninfo_to_dict(url).get("dbname", ""))
    with _connect(url, wait_s) as connection:
        _lock(connection)
        found = connection.execute("SELECT FROM pg_database WHERE datname = %s", (name,))
        if found.fetchone() is None:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def _connect(url: str, wait_s: float) -> Connection:
    """Connect to the server's maintenance database, trying again for `wait_s` seconds."""
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return psycopg.connect(url, dbname="postgres", autocommit=True, connect_timeout=5)
        except psycopg.OperationalError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(0.5)


def _lock(connection: Connection) -> None:
    connection.execute("SELECT set_config('lock_timeout', %s, false)", (LOCK_WAIT,))
    connection.execute("SELECT set_config('statement_timeout', %s, false)", (LOCK_WAIT,))
    try:
        connection.execute("SELECT pg_advisory_lock(%s)", (LOCK,))
    except (psycopg.errors.LockNotAvailable, psycopg.errors.QueryCanceled):
        raise MigrationError(
            f"another migrate has held the lock for {LOCK_WAIT}; end it and run this again"
        ) from None


def _apply(connection: Connection, text: str, name: str, entry: tuple[int, str]) -> None:
    try:
        with connection.transaction():
            connection.execute(text.encode())
            connection.execute(
                "INSERT INTO migration.applied (number, name, sha256) VALUES (%s, %s, %s)",
                (entry[0], name, entry[1]),
            )
    except psycopg.Error as error:
        reason = str(error).splitlines()[0]
        line = text[: int(error.diag.statement_position or 0)].count("\n") + 1
        raise MigrationError(f"{name}.sql line {line} failed, rolled back: {reason}") from None


def _read_tokens(name: str | None) -> dict[str, str]:
    if name is None:
        return {}
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return parse(data)
    except OSError as error:
        raise MigrationError(f"cannot read --tokens {name}: {error.strerror}") from None
    except BadJSON as error:
        raise MigrationError(f"--tokens {name}: {error}") from None


def _needed(env: Mapping[str, str], name: str) -> str:
    if not env.get(name):
        raise MigrationError(f"the environment variable {name} is missing; set it")
    return env[name]


def main(arguments: list[str]) -> None:
    """Run `migrate` with what the command line and the environment say; print what was done."""
    parser = argparse.ArgumentParser(
        prog="python -m apps.retrieval.migrate",
        description=__doc__,
        epilog="example: python -m apps.retrieval.migrate --tokens - < tokens.json",
    )
    parser.add_argument("--tokens", metavar="FILE", help="JSON {token: customer}; - is stdin")
    parser.add_argument("--no-demo", action="store_true", help="seed synthetic customers only")
    parser.add_argument("--wait", type=float, default=60, metavar="S", help="for the server (60)")
    chosen = parser.parse_args(arguments)
    tokens = _read_tokens(chosen.tokens)
    passwords = {role: _needed(os.environ, f"PASSWORD_{role.upper()}") for role in LOGIN_ROLES}
    applied = migrate(
        _needed(os.environ, "DATABASE_URL"),
        passwords,
        key_from_hex(_needed(os.environ, "ASSERTION_KEY")),
        tokens,
        demo=not chosen.no_demo,
        wait_s=chosen.wait,
    )
    for name in applied:
        print(f"applied {name}")
    print(f"the database is up to date; {len(tokens)} tokens set")


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (MigrationError, BadAssertion) as error:
        sys.exit(f"migrate: {error}")
    except psycopg.Error as error:
        sys.exit(f"migrate: PostgreSQL said: {(str(error).splitlines() or ['nothing'])[0]}")
