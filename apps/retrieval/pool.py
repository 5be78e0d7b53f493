"""A bounded pool of PostgreSQL connections in which nothing waits past its deadline."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from types import TracebackType
from typing import Any, LiteralString

import psycopg
from psycopg import sql
from psycopg.abc import RV, PQGen
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout, TooManyRequests

Connection = psycopg.Connection[tuple[object, ...]]

Settings = Mapping[LiteralString, str]
"""Of one transaction: {name: value}."""

_READ_ONLY = (
    " -c default_transaction_read_only=on -c default_transaction_isolation=repeatable\\ read"
)


class TryLater(Exception):
    """The database cannot answer now (lost, stopped, too slow or too busy); nothing was done."""


class _Bounded(psycopg.Connection[tuple[object, ...]]):
    """A connection that is given up at `deadline` (of time.monotonic): a stopped server would be
    waited for for ever, and its own statement_timeout is stopped with it."""

    deadline = float("inf")

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        left = self.deadline - time.monotonic()
        if left <= 0:
            self.close()  # a commit that is sent late may be done and told as not done
            raise psycopg.OperationalError("the time for this transaction is over")
        try:
            return super().wait(gen, interval, left if timeout is None else min(left, timeout))
        except psycopg.OperationalError:
            if time.monotonic() >= self.deadline:
                self.close()  # what it would say later belongs to nobody
            raise


class Pool:
    """`size` connections to `url`, kept open; each transaction ends within `deadline_s` seconds.

    `read_only` gives each transaction one snapshot and refuses writes. Opening never waits for
    the server: a server that is away is a `TryLater` of the transaction, and its return is
    noticed by the next one.
    """

    def __init__(
        self, url: str, *, size: int = 4, deadline_s: float = 2.0, read_only: bool = False
    ) -> None:
        self._deadline_s = deadline_s
        self._pool: ConnectionPool[_Bounded] = ConnectionPool(
            url,
            connection_class=_Bounded,
            # All from the start: in a burst, connecting would be the slowest part of it.
            min_size=size,
            max_size=size,
            max_waiting=16 * size,
            timeout=deadline_s,
            # Given up soon, so that the next request tries afresh: the pool's own pauses between
            # attempts grow to minutes.
            reconnect_timeout=deadline_s,
            num_workers=2,
            kwargs={
                "autocommit": True,
                "connect_timeout": 2,
                "tcp_user_timeout": int(deadline_s * 1000),
                "options": f"-c statement_timeout={int(deadline_s * 1000)}"
                + (_READ_ONLY if read_only else ""),
            },
            open=False,
        )

    def __enter__(self) -> "Pool":
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def open(self) -> None:
        """Begin to connect in the background."""
        self._pool.open(wait=False)

    def close(self) -> None:
        """Close the connections; a transaction under way loses its connection."""
        self._pool.close(timeout=self._deadline_s)

    @contextmanager
    def transaction(self, assertion: str = "") -> Iterator[Connection]:
        """Run the block in one transaction that acts for `assertion`; commit at its end.

        Raises `TryLater` when the database does not answer in time; an error of the block
        itself, or of its SQL, rolls back and passes through.
        """
        deadline = time.monotonic() + self._deadline_s
        connection = self._begin(assertion, deadline)
        try:
            yield connection
            connection.commit()
        except psycopg.Error as error:
            if isinstance(error, psycopg.OperationalError) or connection.closed:
                raise TryLater(_line(error)) from None
            raise
        finally:
            with suppress(psycopg.Error):
                connection.rollback()  # does nothing after the commit
            self._pool.putconn(connection)

    def read(
        self,
        assertion: str,
        text: bytes,
        values: Mapping[str, Any],
        settings: Settings | None = None,
    ) -> list[tuple[Any, ...]]:
        """The rows of the query `text` with its parameters `values`, in a transaction of its own
        that acts for `assertion`, under `settings`.

        It is one round trip, without BEGIN and COMMIT: what comes in one pipeline is one
        transaction. Asked again on another connection if the server has closed this one, so it
        must only read. Raises `TryLater`; an error of its SQL passes through.
        """
        begin = _opening(tuple((settings or {}).items()))
        deadline = time.monotonic() + self._deadline_s
        while True:
            connection = self._take(deadline)
            try:
                with connection.pipeline():
                    connection.execute(begin, (assertion,), prepare=True)
                    cursor = connection.execute(text, values, prepare=True)
                return cursor.fetchall()
            except psycopg.OperationalError as error:
                if time.monotonic() >= deadline or not connection.closed:
                    raise TryLater(_line(error)) from None
            finally:
                self._pool.putconn(connection)

    def ask(self) -> None:
        """Run one real query, for a probe; raises `TryLater`."""
        with self.transaction() as connection:
            connection.execute("SELECT 1")

    def _begin(self, assertion: str, deadline: float) -> _Bounded:
        """Take a connection and begin; one that the server has since closed is replaced."""
        while True:
            connection = self._take(deadline)
            try:
                connection.execute("BEGIN")
                connection.execute(_opening(()), (assertion,), prepare=True)
            except psycopg.Error as error:
                self._pool.putconn(connection)
                if time.monotonic() >= deadline or not connection.closed:
                    raise TryLater(_line(error)) from None
            else:
                return connection

    def _take(self, deadline: float) -> _Bounded:
        try:
            connection = self._pool.getconn(timeout=max(deadline - time.monotonic(), 0.001))
        except TooManyRequests:
            raise TryLater("too many wait for a database connection") from None
        except PoolTimeout:
            raise TryLater("no database connection became free in time") from None
        except PoolClosed:
            raise TryLater("the database pool is closed") from None
        connection.deadline = deadline
        return connection


@cache
def _opening(settings: tuple[tuple[LiteralString, str], ...]) -> bytes:
    """What each transaction does first. Parameter: the assertion, which is always set, so that
    what an earlier user of the connection set is gone."""
    each = [
        sql.SQL("set_config({}, {}, true)").format(sql.Literal(name), sql.Literal(value))
        for name, value in settings
    ]
    who = sql.SQL("set_config('switchyard.assertion', %s, true)")
    return (sql.SQL("SELECT ") + sql.SQL(", ").join([who, *each])).as_bytes()


def _line(error: psycopg.Error) -> str:
    return (str(error).splitlines() or ["the database connection was lost"])[0]
