"""A real PostgreSQL for tests: started once, migrated and seeded, cleaned before each test."""

import secrets
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from apps.retrieval.assertion import sign
from apps.retrieval.configuration import LOGIN_ROLES
from apps.retrieval.local import LocalServer
from apps.retrieval.migrate import migrate

CUSTOMERS = ("c-1001", "c-1002", "c-1003", "c-1004", "c-1005", "s-zh", "s-en")


@dataclass(frozen=True)
class Postgres:
    """One migrated database: URLs by role, the assertion key, {bearer token: customer}."""

    server: LocalServer
    superuser_password: str
    passwords: dict[str, str]
    assertion_key: bytes
    tokens: dict[str, str]

    @property
    def superuser_url(self) -> str:
        return self.server.url("postgres", self.superuser_password)

    def url(self, role: str) -> str:
        return self.server.url(role, self.passwords[role])

    def token(self, customer: str) -> str:
        return next(token for token, who in self.tokens.items() if who == customer)

    def assertion(self, customer: str, session: str = "session-1", lifetime_s: int = 60) -> str:
        return sign(self.assertion_key, customer, session, int(time.time()) + lifetime_s)


@pytest.fixture(scope="session")
def running_postgres() -> Iterator[Postgres]:
    with tempfile.TemporaryDirectory(prefix="switchyard-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        password = secrets.token_hex(16)
        extra = {"fsync": "off", "deadlock_timeout": "200ms"}
        with LocalServer(folder / "postgres", password, extra=extra) as server:
            postgres = Postgres(
                server,
                password,
                {role: secrets.token_hex(16) for role in LOGIN_ROLES},
                secrets.token_bytes(32),
                {secrets.token_urlsafe(24): customer for customer in CUSTOMERS},
            )
            migrate(
                postgres.superuser_url,
                postgres.passwords,
                postgres.assertion_key,
                postgres.tokens,
            )
            yield postgres


@pytest.fixture
def postgres(running_postgres: Postgres) -> Postgres:
    """The running database without tickets and sessions; ticket numbers start at 1."""
    with psycopg.connect(running_postgres.superuser_url) as connection:
        connection.execute("TRUNCATE tickets.tickets, identity.sessions RESTART IDENTITY")
    return running_postgres
