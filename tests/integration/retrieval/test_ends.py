"""Sessions and synthetic tickets end by themselves, a few at a time, and nothing else can go."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

FILE = "SELECT number, created FROM tickets.file(%s, 'q', 'en')"
STOPPED = "SELECT session, seconds_ago FROM tickets.stopped_within(%s) ORDER BY session"


@contextmanager
def upkeep(postgres: Any) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A connection with the rights of the functions that delete tickets."""
    with psycopg.connect(postgres.superuser_url) as connection:
        connection.execute("SET ROLE switchyard_upkeep")
        yield connection


def rows(postgres: Any, query: str, *values: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(postgres.superuser_url) as connection:
        return connection.execute(query.encode(), values).fetchall()


def change(postgres: Any, query: str, *values: object) -> None:
    with psycopg.connect(postgres.superuser_url) as connection:
        connection.execute(query.encode(), values)


def bind(postgres: Any, session: str, customer: str) -> bool:
    with psycopg.connect(postgres.url("gateway"), autocommit=True) as connection:
        row = connection.execute("SELECT identity.bind_session(%s, %s)", (session, customer))
        return bool((row.fetchone() or (None,))[0])


def file(postgres: Any, customer: str, message_id: str, session: str = "session-1") -> int:
    with psycopg.connect(postgres.url("tickets")) as connection:
        assertion = postgres.assertion(customer, session)
        connection.execute("SELECT set_config('switchyard.assertion', %s, true)", (assertion,))
        row = connection.execute(FILE, (message_id,)).fetchone()
        assert row is not None
        return int(row[0])


def age_sessions(postgres: Any, interval: str, pattern: str = "%") -> None:
    change(
        postgres,
        "UPDATE identity.sessions SET used_at = now() - %s::interval WHERE session LIKE %s",
        interval,
        pattern,
    )


def age_tickets(postgres: Any, interval: str) -> None:
    change(postgres, "UPDATE tickets.tickets SET created_at = now() - %s::interval", interval)


def sessions(postgres: Any) -> set[str]:
    return {row[0] for row in rows(postgres, "SELECT session FROM identity.sessions")}


def test_a_session_that_nobody_used_for_30_days_ends_with_the_next_use_of_another(
    postgres: Any,
) -> None:
    for session in ("old", "young"):
        assert bind(postgres, session, "c-1001")
    age_sessions(postgres, "30 days 1 minute", "old")
    age_sessions(postgres, "29 days", "young")
    assert bind(postgres, "new", "c-1002")
    assert sessions(postgres) == {"young", "new"}
    # Nobody owns the name any more; whoever is next does.
    assert bind(postgres, "old", "c-1002")
    assert not bind(postgres, "old", "c-1001")


def test_each_use_begins_a_sessions_life_anew_also_when_it_was_over(postgres: Any) -> None:
    assert bind(postgres, "kept", "c-1001")
    age_sessions(postgres, "40 days")
    assert not bind(postgres, "kept", "c-1002"), "a stranger's use is none"
    assert bind(postgres, "theirs", "c-1002")
    assert sessions(postgres) == {"theirs"}
    assert bind(postgres, "kept", "c-1001")
    age_sessions(postgres, "29 days")
    assert bind(postgres, "kept", "c-1001")
    assert rows(
        postgres,
        "SELECT session FROM identity.sessions WHERE used_at > now() - interval '1 minute'",
    ) == [("kept",)]


def test_sessions_end_twenty_at_a_time(postgres: Any) -> None:
    change(
        postgres,
        "INSERT INTO identity.sessions (session, customer)"
        " SELECT 'old-' || n, 'c-1001' FROM generate_series(1, 50) AS n",
    )
    age_sessions(postgres, "31 days")
    left = []
    for turn in range(3):
        assert bind(postgres, f"new-{turn}", "c-1002")
        left.append(len([name for name in sessions(postgres) if name.startswith("old-")]))
    assert left == [30, 10, 0]


def test_a_session_used_while_another_use_ends_it_is_its_owners_again(postgres: Any) -> None:
    assert bind(postgres, "kept", "c-1001")
    age_sessions(postgres, "31 days")
    with (
        psycopg.connect(postgres.url("gateway")) as ending,
        ThreadPoolExecutor(1) as threads,
    ):
        ending.execute("SELECT identity.bind_session('new', 'c-1002')")
        used = threads.submit(bind, postgres, "kept", "c-1001")
        while not rows(postgres, "SELECT FROM pg_locks WHERE NOT granted"):
            assert not used.done(), "it did not wait for the end of the session"
            time.sleep(0.01)
        ending.commit()
        assert used.result(timeout=10)
    assert sessions(postgres) == {"kept", "new"}


def test_no_right_reaches_a_session_that_is_in_use(postgres: Any) -> None:
    assert bind(postgres, "used", "c-1001")
    with psycopg.connect(postgres.superuser_url) as connection:
        connection.execute("SET ROLE switchyard_identity")
        assert connection.execute("DELETE FROM identity.sessions").rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("UPDATE identity.sessions SET customer = 'c-1002'")
    assert sessions(postgres) == {"used"}


def test_a_synthetic_customers_tickets_end_after_a_day_and_nobody_elses_do(postgres: Any) -> None:
    for customer in ("s-en", "s-zh", "c-1001"):
        file(postgres, customer, "first")
    age_tickets(postgres, "25 hours")
    file(postgres, "c-1001", "second")
    assert len(rows(postgres, "SELECT FROM tickets.tickets")) == 4
    file(postgres, "s-en", "second")
    assert set(rows(postgres, "SELECT customer, message_id FROM tickets.tickets")) == {
        ("s-zh", "first"),
        ("c-1001", "first"),
        ("c-1001", "second"),
        ("s-en", "second"),
    }


def test_a_synthetic_ticket_of_today_stays(postgres: Any) -> None:
    number = file(postgres, "s-en", "first")
    age_tickets(postgres, "23 hours")
    file(postgres, "s-en", "second")
    assert file(postgres, "s-en", "first") == number


def test_synthetic_tickets_end_twenty_at_a_time(postgres: Any) -> None:
    change(
        postgres,
        "INSERT INTO tickets.tickets (customer, session, message_id, query, language)"
        " SELECT 's-en', 's', 'm-' || n, 'q', 'en' FROM generate_series(1, 50) AS n",
    )
    age_tickets(postgres, "2 days")
    left = []
    for turn in range(3):
        file(postgres, "s-en", f"new-{turn}")
        left.append(len(rows(postgres, "SELECT FROM tickets.tickets WHERE query = 'q'")) - turn - 1)
    assert left == [30, 10, 0]


def test_upkeep_cannot_delete_a_customers_ticket_nor_read_what_it_says(postgres: Any) -> None:
    for customer in ("c-1001", "s-en"):
        file(postgres, customer, "first")
    with upkeep(postgres) as connection:
        assert connection.execute("DELETE FROM tickets.tickets").rowcount == 0
        for column in ("query", "message_id", "status"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
                connection.execute(f"SELECT {column} FROM tickets.tickets".encode())
        with pytest.raises(psycopg.errors.InsufficientPrivilege), connection.transaction():
            connection.execute("SELECT name FROM identity.customers")
    age_tickets(postgres, "2 days")
    with upkeep(postgres) as connection:
        assert connection.execute("DELETE FROM tickets.tickets").rowcount == 1
    assert rows(postgres, "SELECT customer FROM tickets.tickets") == [("c-1001",)]


def test_a_gateway_learns_which_sessions_were_stopped_lately_and_no_more(postgres: Any) -> None:
    file(postgres, "c-1001", "first", "long-ago")
    age_tickets(postgres, "20 seconds")
    file(postgres, "c-1002", "first", "just-now")
    with psycopg.connect(postgres.url("gateway"), autocommit=True) as connection:
        found = connection.execute(STOPPED, (30.0,)).fetchall()
        assert [session for session, _ in found] == ["just-now", "long-ago"]
        assert 0 <= found[0][1] < 10 < 20 <= found[1][1] < 30
        assert [one[0] for one in connection.execute(STOPPED, (15.0,))] == ["just-now"]
        assert connection.execute(STOPPED, (0.0,)).fetchall() == []
        assert connection.execute(STOPPED, (-1.0,)).fetchall() == []
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT session FROM tickets.tickets")


def test_no_more_than_ten_minutes_of_stops_are_looked_through(postgres: Any) -> None:
    file(postgres, "c-1001", "first")
    age_tickets(postgres, "601 seconds")
    with psycopg.connect(postgres.url("gateway"), autocommit=True) as connection:
        assert connection.execute(STOPPED, (1e12,)).fetchall() == []


@pytest.mark.parametrize("role", ["assistant", "tickets"])
def test_stops_are_told_to_no_other_role(postgres: Any, role: str) -> None:
    with (
        psycopg.connect(postgres.url(role)) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(STOPPED, (1.0,))
