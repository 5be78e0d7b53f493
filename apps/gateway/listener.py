"""LISTEN session_stop: a complaint anywhere ends the session's answers here."""

import asyncio
import logging

import psycopg

from apps.gateway.directory import CONNECT
from apps.gateway.stops import Stops

log = logging.getLogger(__name__)

RETRY_S = (0.2, 0.5, 1.0, 2.0, 5.0)
CHECK_S = 15.0
ANSWER_S = 3.0


async def listen(database_url: str, stops: Stops) -> None:
    """Run until cancelled; reconnects by itself.

    Notices made while it is not connected are lost: those answers run to their end.
    """
    failures = 0
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(
                database_url, autocommit=True, **CONNECT
            ) as connection:
                await connection.execute("LISTEN session_stop")
                failures = 0
                await _hear(connection, stops)
        except (psycopg.Error, TimeoutError, OSError) as error:
            log.warning("session_stop: %s", " ".join(str(error).split())[:200] or type(error))
        await asyncio.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
        failures += 1


async def _hear(connection: psycopg.AsyncConnection[tuple[object, ...]], stops: Stops) -> None:
    while True:
        async for notice in connection.notifies(timeout=CHECK_S):
            stops.stop(notice.payload)
        # A server that is frozen keeps its TCP connection; only a query finds out.
        async with asyncio.timeout(ANSWER_S):
            await connection.execute("SELECT 1")
