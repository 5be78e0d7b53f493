"""Complaints that are filed beside the gateways, and gateways that cannot hear of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg


def change(postgres: Any, statement: str, *values: object) -> None:
    with psycopg.connect(postgres.superuser_url, autocommit=True) as connection:
        connection.execute(statement.encode(), values or None)


def complain(postgres: Any, session: str, message_id: str = "m-1") -> None:
    """As the tickets service files a complaint."""
    with psycopg.connect(postgres.url("tickets")) as connection:
        assertion = postgres.assertion("c-1002", session)
        connection.execute("SELECT set_config('switchyard.assertion', %s, true)", (assertion,))
        connection.execute("SELECT tickets.file(%s, 'I complain', 'en')", (message_id,))


@contextmanager
def shut_out(postgres: Any) -> Iterator[None]:
    """The listening connection is cut, and none can be made, for the block."""
    change(postgres, "ALTER ROLE gateway NOLOGIN")
    try:
        change(
            postgres,
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE usename = 'gateway'",
        )
        yield
    finally:
        change(postgres, "ALTER ROLE gateway LOGIN")
