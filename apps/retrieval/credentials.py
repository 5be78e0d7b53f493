"""What a database is told of secrets: login roles' passwords, the assertion key, bearer tokens."""

import hashlib
from collections.abc import Mapping

import psycopg
from psycopg import sql

from apps.retrieval.configuration import LOGIN_ROLES
from apps.retrieval.migration import MigrationError

Connection = psycopg.Connection[tuple[object, ...]]


def set_passwords(connection: Connection, passwords: Mapping[str, str]) -> None:
    """Give each login role its password of {role: password}, and no other right than before."""
    for role in LOGIN_ROLES:
        # Hashed here, so that no password crosses the wire or reaches the server's log.
        secret = connection.pgconn.encrypt_password(
            passwords[role].encode(), role.encode(), b"scram-sha-256"
        )
        statement = sql.SQL(
            "ALTER ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"
            " NOINHERIT PASSWORD {}"
        )
        connection.execute(statement.format(sql.Identifier(role), sql.Literal(secret.decode())))


def set_key(connection: Connection, key: bytes) -> None:
    """Let assertions be verified by `key` (32 bytes)."""
    block = key.ljust(64, b"\0")
    inner, outer = (bytes(byte ^ pad for byte in block) for pad in (0x36, 0x5C))
    connection.execute(
        "INSERT INTO identity.assertion_key (inner_pad, outer_pad) VALUES (%s, %s)"
        " ON CONFLICT (single) DO UPDATE"
        " SET inner_pad = EXCLUDED.inner_pad, outer_pad = EXCLUDED.outer_pad",
        (inner, outer),
    )


def set_tokens(connection: Connection, tokens: Mapping[str, str]) -> None:
    """Replace the bearer tokens of each customer that {token: customer} names.

    Raises `MigrationError` if there is no such customer.
    """
    customers = sorted(set(tokens.values()))
    rows = connection.execute("SELECT id FROM identity.customers WHERE id = ANY(%s)", (customers,))
    unknown = set(customers) - {str(row[0]) for row in rows}
    if unknown:
        raise MigrationError(f"--tokens names the unknown customer {min(unknown)}; seed it first")
    connection.execute("DELETE FROM identity.tokens WHERE customer = ANY(%s)", (customers,))
    for token, customer in tokens.items():
        connection.execute(
            "INSERT INTO identity.tokens (sha256, customer) VALUES (%s, %s)",
            (hashlib.sha256(token.encode()).digest(), customer),
        )
