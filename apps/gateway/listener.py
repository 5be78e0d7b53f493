"""LISTEN session_stop: a complaint anywhere ends the session's answers here."""

import asyncio
import logging
import time

import psycopg

from apps.gateway.directory import CONNECT
from apps.gateway.stops import Stops

log = logging.getLogger(__name__)

RETRY_S = (0.2, 0.5, 1.0, 2.0, 5.0)
CHECK_S = 15.0
ANSWER_S = 3.0
MARGIN_S = 10.0
"""More than a complaint's transaction may take from its making to its commit (2.5 s)."""

Connection = psycopg.AsyncConnection[tuple[object, ...]]


class Listener:
    """Hears of complaints; those that it could not hear it asks for when it is connected again.

    An answer that began after the complaint goes on, however late the complaint is heard of.
    """

    def __init__(self, database_url: str, stops: Stops) -> None:
        self._database_url = database_url
        self._stops = stops
        self._heard = time.monotonic()
        """Until when nothing was missed, in monotonic seconds."""

    async def run(self) -> None:
        """Listen until cancelled; reconnects by itself."""
        failures = 0
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(
                    self._database_url, autocommit=True, **CONNECT
                ) as connection:
                    await self._begin(connection)
                    failures = 0
                    await self._hear(connection)
            except (psycopg.Error, TimeoutError, OSError) as error:
                log.warning("session_stop: %s", _line(error))
            await asyncio.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
            failures += 1

    async def _begin(self, connection: Connection) -> None:
        """First listen, then ask for what was missed: nothing falls between the two."""
        async with asyncio.timeout(ANSWER_S):
            begun = time.monotonic()
            await connection.execute("LISTEN session_stop")
            missed_s = begun - self._heard + MARGIN_S
            try:
                for session, ago_s in await _stopped(connection, missed_s):
                    self._stops.stop(session, ago_s=ago_s)
            except (psycopg.errors.UndefinedFunction, psycopg.errors.InsufficientPrivilege):
                # Better to hear of new ones only than of none.
                log.warning(
                    "session_stop: complaints of the last %.0f s may be missed: the schema is "
                    "older than this gateway; migrate the database",
                    missed_s,
                )
            self._heard = begun

    async def _hear(self, connection: Connection) -> None:
        while True:
            async for notice in connection.notifies(timeout=CHECK_S):
                self._stops.stop(notice.payload)
            # A server that is frozen keeps its TCP connection; only a query finds out.
            begun = time.monotonic()
            async with asyncio.timeout(ANSWER_S):
                await connection.execute("SELECT 1")
            self._heard = begun


async def _stopped(connection: Connection, within_s: float) -> list[tuple[str, float]]:
    """The sessions stopped within the last so many seconds, and how many seconds ago."""
    query = "SELECT session, seconds_ago FROM tickets.stopped_within(%s)"
    cursor = await connection.execute(query, (within_s,))
    return [(str(session), float(str(ago_s))) for session, ago_s in await cursor.fetchall()]


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
