"""No complaint is missed while the listening connection is down: it is asked for afterwards."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from apps.gateway.listener import Listener
from apps.gateway.stops import COMPLAINT, Running, Stops
from tests.integration.gateway.complaints import change, complain, shut_out

LISTENING = "SELECT pid FROM pg_stat_activity WHERE usename = 'gateway' AND query LIKE %s"
GIVE_UP_S = 20


@contextmanager
def listening(postgres: Any, stops: Stops) -> Iterator[None]:
    """A listener in a thread of its own, connected."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(Listener(postgres.url("gateway"), stops).run())
    thread = threading.Thread(target=_until_cancelled, args=(loop, task))
    thread.start()
    try:
        wait_connected(postgres)
        yield
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(GIVE_UP_S)
        loop.close()


def _until_cancelled(loop: asyncio.AbstractEventLoop, task: "asyncio.Task[None]") -> None:
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)


def wait_connected(postgres: Any) -> None:
    """Until a listener has asked for what it missed: from here on it hears."""
    with psycopg.connect(postgres.superuser_url, autocommit=True) as connection:
        for _ in range(GIVE_UP_S * 50):
            if connection.execute(LISTENING, ("%stopped_within%",)).fetchone():
                return
            threading.Event().wait(0.02)
    raise AssertionError("the listener does not connect")


def wait_ended(running: Running) -> None:
    for _ in range(GIVE_UP_S * 50):
        if running.ended:
            return
        threading.Event().wait(0.02)
    raise AssertionError("the answer was not stopped")


@pytest.fixture
def stops() -> Stops:
    return Stops()


def test_a_complaint_made_while_nobody_listens_stops_the_answer_after_the_reconnect(
    postgres: Any, stops: Stops
) -> None:
    with (
        stops.running("s-lost") as lost,
        stops.running("s-other") as other,
        listening(postgres, stops),
    ):
        with shut_out(postgres):
            complain(postgres, "s-lost")
            assert lost.ended is None
        wait_ended(lost)
        assert (lost.ended, other.ended) == (COMPLAINT, None)


def test_an_answer_that_began_after_the_complaint_goes_on(postgres: Any) -> None:
    moved_s = -8.0
    stops = Stops(lambda: time.monotonic() + moved_s)
    with stops.running("s-1") as before, listening(postgres, stops):
        moved_s = 0.0
        with shut_out(postgres):
            complain(postgres, "s-1")
            change(postgres, "UPDATE tickets.tickets SET created_at = created_at - interval '4 s'")
            with stops.running("s-1") as after:
                change(postgres, "ALTER ROLE gateway LOGIN")
                wait_ended(before)
                assert after.ended is None
                complain(postgres, "s-1", "m-2")
                wait_ended(after)


def test_a_complaint_before_the_very_first_connection_is_heard_of_too(
    postgres: Any, stops: Stops
) -> None:
    with stops.running("s-early") as early:
        complain(postgres, "s-early")
        with listening(postgres, stops):
            wait_ended(early)


def test_notices_are_heard_as_they_come_where_missed_ones_cannot_be_asked_for(
    postgres: Any, stops: Stops
) -> None:
    function = "FUNCTION tickets.stopped_within(double precision)"
    change(postgres, f"REVOKE EXECUTE ON {function} FROM gateway")
    try:
        with stops.running("s-1") as running, listening(postgres, stops):
            complain(postgres, "s-1")
            wait_ended(running)
    finally:
        change(postgres, f"GRANT EXECUTE ON {function} TO gateway")
