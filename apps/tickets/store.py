"""Tickets in PostgreSQL, as the role `tickets` may touch them."""

import logging
import time

import psycopg
from psycopg.rows import class_row

from apps.retrieval.pool import Pool, TryLater
from apps.tickets.complaint import Complaint
from apps.tickets.ticket import MAX_NUMBER, Ticket

log = logging.getLogger(__name__)

RECENT_S = 5.0

_FILE = "SELECT number, created FROM tickets.file(%s, %s, %s)"
_PAGE = (
    "SELECT number, created_at, customer, name, language, status, query"
    " FROM tickets.staff_page(%s, %s)"
)


class NotAllowed(Exception):
    """The complaint's assertion is not valid now."""


class Store:
    """The tickets behind one pool. Methods block; they raise `TryLater` when the database cannot
    answer in time."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._answered_at = float("-inf")

    def file(self, complaint: Complaint) -> tuple[int, bool]:
        """Return the complaint's ticket number and whether this call made it.

        The ticket and the notice that stops the session's running answer commit together; the
        same customer and message id always give the same ticket.
        """
        arguments = (complaint.message_id, complaint.query, complaint.language)
        try:
            with self._pool.transaction(complaint.assertion) as connection:
                row = connection.execute(_FILE, arguments).fetchone()
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.ForeignKeyViolation):
            # Not signed for now, or signed for somebody who is no customer here.
            raise NotAllowed("the assertion is not valid now; ask for a new one") from None
        assert row is not None
        self._answered_at = time.monotonic()
        return int(str(row[0])), bool(row[1])

    def page(self, before: int, count: int) -> list[Ticket]:
        """Return the newest `count` real customers' tickets with a number below `before`."""
        with (
            self._pool.transaction() as connection,
            connection.cursor(row_factory=class_row(Ticket)) as cursor,
        ):
            tickets = cursor.execute(_PAGE, (before, count)).fetchall()
        self._answered_at = time.monotonic()
        return tickets

    def ticket(self, number: int) -> Ticket | None:
        """Return one real customer's ticket."""
        if number >= MAX_NUMBER:
            return None
        found = self.page(number + 1, 1)
        return found[0] if found and found[0].number == number else None

    @property
    def answered_lately(self) -> bool:
        """Whether the database answered within the last `RECENT_S` seconds."""
        return time.monotonic() - self._answered_at < RECENT_S

    def answers(self) -> bool:
        """Whether the database answers a real query now."""
        try:
            self.page(0, 1)
        except (TryLater, psycopg.Error) as error:
            # Also while the schema is still to be migrated.
            log.warning("not ready: %s", str(error).partition("\n")[0])
            return False
        return True
