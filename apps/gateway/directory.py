"""Who a token belongs to and whose a session is: PostgreSQL's functions, behind short caches."""

import asyncio
import hashlib
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from apps.gateway.part import Part
from apps.gateway.recent import Recent
from apps.gateway.refusal import Refusal

log = logging.getLogger(__name__)

CONNECT: dict[str, Any] = {
    "connect_timeout": 3,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "application_name": "gateway",
}
POOL_SIZE = 4
QUERY_S = 2.0
REST_S = 1.0
KNOWN_S = 60.0
UNKNOWN_S = 5.0
BOUND_S = 3600.0
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,200}=*", re.ASCII)


class DirectoryDown(Exception):
    """PostgreSQL did not answer; one line."""


class TooMany(Exception):
    """The customer has as many uploads under way as one may have."""


@dataclass(frozen=True, slots=True)
class Customer:
    """Who asks, the language they usually use, and whether they are synthetic."""

    id: str
    language: str
    synthetic: bool


@dataclass(frozen=True, slots=True)
class Uploaded:
    """How far a file is: bytes that are there, and `receiving`, `queued`, `loading`, `loaded` or
    `failed`; then `error` says why."""

    received: int
    state: str
    error: str


class Directory:
    """Authentication and session binding. Open it before use, close it after."""

    def __init__(self, database_url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._pool = AsyncConnectionPool(
            database_url,
            min_size=1,
            max_size=POOL_SIZE,
            open=False,
            timeout=QUERY_S,
            reconnect_timeout=5,
            max_idle=60,
            kwargs={**CONNECT, "autocommit": True},
        )
        self._clock = clock
        self._down_until = 0.0
        self._customers: Recent[bytes, Customer | None] = Recent(10_000, clock)
        self._sessions: Recent[str, str] = Recent(50_000, clock)
        self._tasks: set[asyncio.Task[Any]] = set()

    async def open(self) -> None:
        """Start connecting; does not wait, so that a gateway starts without its database."""
        await self._pool.open(wait=False)

    async def close(self) -> None:
        """Close every connection, waiting at most two seconds."""
        await self._pool.close(timeout=2)

    async def authenticate(self, token: str) -> Customer:
        """Whose token it is, known for up to 60 s. Raises Refusal (401) or DirectoryDown."""
        if not _TOKEN.fullmatch(token):
            raise _unknown_token()
        digest = hashlib.sha256(token.encode()).digest()
        found = self._customers.get(digest)
        if found is None:
            row = await self._row(
                "SELECT customer, language, synthetic FROM identity.authenticate(%s)", digest
            )
            customer = Customer(*row) if row else None
            self._customers.put(digest, customer, KNOWN_S if customer else UNKNOWN_S)
            found = (customer,)
        if found[0] is None:
            raise _unknown_token()
        return found[0]

    async def bind(self, session: str, customer: str) -> None:
        """Make the session this customer's. Raises Refusal (403) or DirectoryDown."""
        owner = self._sessions.get(session)
        if owner is None:
            row = await self._row("SELECT identity.bind_session(%s, %s)", session, customer)
            if row and row[0]:
                # Asked again once an hour, so that the database knows that it is used.
                self._sessions.put(session, customer, BOUND_S)
                return
        elif owner[0] == customer:
            return
        raise Refusal(
            403,
            "this session belongs to another customer",
            "choose a new session name at random and ask again",
        )

    async def take_part(self, customer: str, part: Part, content: bytes) -> Uploaded:
        """Keep the part of the customer's file. Raises Refusal (429) or DirectoryDown."""
        try:
            row = await self._row(
                "SELECT received, state, error FROM documents.take_part(%s, %s, %s, %s, %s, %s)",
                *(customer, part.name, part.sha256, part.size, part.start),
                None if part.start is None else content,
            )
        except TooMany:
            raise Refusal(
                429, "too many uploads are under way", "wait until some are loaded"
            ) from None
        assert row is not None
        return Uploaded(*row)

    async def ping(self) -> None:
        """Whether PostgreSQL answers. Raises DirectoryDown."""
        await self._row("SELECT 1")

    async def _row(self, sql: str, *values: object) -> tuple[Any, ...] | None:
        """The first row, within QUERY_S. After a failure nobody waits for REST_S."""
        if self._clock() < self._down_until:
            raise DirectoryDown("the customer database does not answer")
        task = asyncio.ensure_future(self._execute(sql, values))
        self._tasks.add(task)
        task.add_done_callback(self._forget)
        done, _ = await asyncio.wait((task,), timeout=QUERY_S)
        if done and not task.cancelled():
            error = task.exception()
            if error is None:
                return task.result()
            if isinstance(error, psycopg.errors.ProgramLimitExceeded):
                raise TooMany
            log.warning("customer database: %s", " ".join(str(error).split())[:200])
        # Cancelling may itself wait for the server, so nobody waits for the cancelling.
        task.cancel()
        self._down_until = self._clock() + REST_S
        raise DirectoryDown("the customer database does not answer")

    async def _execute(self, sql: str, values: tuple[object, ...]) -> tuple[Any, ...] | None:
        try:
            return await self._once(sql, values)
        except psycopg.OperationalError as error:
            if isinstance(error, PoolTimeout):
                raise
            # The server may have been restarted: drop the dead connections, try once more.
            await self._pool.check()
            return await self._once(sql, values)

    async def _once(self, sql: str, values: tuple[object, ...]) -> tuple[Any, ...] | None:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(sql.encode(), values)
            return await cursor.fetchone()

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()


def _unknown_token() -> Refusal:
    return Refusal(
        401,
        "the bearer token is not known",
        "send the header Authorization: Bearer TOKEN with a token that is valid now",
        www_authenticate="Bearer",
    )
