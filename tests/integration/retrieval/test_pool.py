"""Whatever becomes of the server, a transaction answers or says `TryLater` within its deadline."""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from apps.retrieval.local import LocalServer
from apps.retrieval.pool import Pool, TryLater

DEADLINE_S = 0.5
SLACK_S = 1.0


@pytest.fixture
def own_server() -> Iterator[LocalServer]:
    with tempfile.TemporaryDirectory(prefix="switchyard-test-") as name:
        Path(name).chmod(0o755)
        with LocalServer(Path(name) / "postgres", "secret", extra={"fsync": "off"}) as server:
            yield server


def test_an_exhausted_pool_says_try_later(postgres: Any) -> None:
    def wait(pool: Pool) -> float:
        start = time.monotonic()
        with pytest.raises(TryLater, match="in time"):
            pool.ask()
        return time.monotonic() - start

    with Pool(postgres.url("assistant"), size=1, deadline_s=DEADLINE_S) as pool:
        with pytest.raises(TryLater), pool.transaction():  # the holder outlasts its own deadline
            waited = wait(pool)
        assert DEADLINE_S * 0.9 <= waited < DEADLINE_S + SLACK_S
        pool.ask()


def test_the_queue_for_a_connection_is_bounded(postgres: Any) -> None:
    with Pool(postgres.url("assistant"), size=1, deadline_s=DEADLINE_S) as pool:

        def reason(_: int) -> str:
            with pytest.raises(TryLater) as error:
                pool.ask()
            return str(error.value)

        with pytest.raises(TryLater), pool.transaction(), ThreadPoolExecutor(40) as threads:
            reasons = list(threads.map(reason, range(40)))
        assert reasons.count("too many wait for a database connection") == 40 - 16


def test_a_server_that_never_was_says_try_later() -> None:
    url = "postgresql://assistant:x@127.0.0.1:1/switchyard"
    start = time.monotonic()
    with Pool(url, deadline_s=DEADLINE_S) as pool, pytest.raises(TryLater):
        pool.ask()
    assert time.monotonic() - start < DEADLINE_S + SLACK_S


def test_a_slow_statement_ends_at_the_deadline(postgres: Any) -> None:
    with Pool(postgres.url("assistant"), deadline_s=DEADLINE_S) as pool:
        start = time.monotonic()
        with pytest.raises(TryLater), pool.transaction() as connection:
            connection.execute("SELECT pg_sleep(30)")
        assert time.monotonic() - start < DEADLINE_S + SLACK_S
        pool.ask()


def test_what_ends_after_its_deadline_is_not_committed(own_server: LocalServer) -> None:
    url = own_server.url("postgres", "secret", "postgres")
    with Pool(url, size=1, deadline_s=DEADLINE_S) as pool:
        with pool.transaction() as connection:
            connection.execute("CREATE TABLE written ()")

        def write_late() -> None:
            with pool.transaction() as connection:
                connection.execute("INSERT INTO written DEFAULT VALUES")
                time.sleep(DEADLINE_S)

        with pytest.raises(TryLater, match="over"):
            write_late()
        with pool.transaction() as connection:
            assert connection.execute("SELECT count(*) FROM written").fetchone() == (0,)


def test_an_error_of_the_block_rolls_back_and_passes_through(postgres: Any) -> None:
    with Pool(postgres.url("assistant"), size=1) as pool:
        with pytest.raises(psycopg.errors.DivisionByZero), pool.transaction() as connection:
            connection.execute("SELECT 1/0")
        with pytest.raises(KeyError), pool.transaction() as connection:
            raise KeyError("the block's own")
        pool.ask()


def test_what_an_earlier_transaction_set_is_gone(postgres: Any) -> None:
    name = "switchyard.assertion"
    with Pool(postgres.url("assistant"), size=1) as pool:
        with pool.transaction("first") as connection:
            connection.execute("SELECT set_config(%s, 'kept', false)", (name,))
        with pool.transaction() as connection:
            row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
        assert row == ("",)


def test_a_read_only_pool_reads_one_snapshot_and_refuses_writes(postgres: Any) -> None:
    with Pool(postgres.url("gateway"), size=1, read_only=True) as pool:
        with (
            pytest.raises(psycopg.errors.ReadOnlySqlTransaction),
            pool.transaction() as connection,
        ):
            connection.execute("SELECT identity.bind_session('s', 'c-1001')")
        with pool.transaction() as connection:
            row = connection.execute("SHOW transaction_isolation").fetchone()
        assert row == ("repeatable read",)


def test_what_is_read_is_read_in_a_transaction_of_its_own(postgres: Any) -> None:
    about = (
        b"SELECT identity.customer(), current_setting('transaction_isolation'),"
        b" current_setting('work_mem'), transaction_timestamp()"
    )
    with Pool(postgres.url("assistant"), size=1, read_only=True) as pool:
        [(who, isolation, memory, begun)] = pool.read(
            postgres.assertion("c-1001"), about, {}, {"work_mem": "3MB"}
        )
        assert (who, isolation, memory) == ("c-1001", "repeatable read", "3MB")
        [(who, _, memory, later)] = pool.read("", about, {})
        assert who is None
        assert memory != "3MB"
        assert later > begun


def test_an_error_of_what_is_read_passes_through(postgres: Any) -> None:
    with Pool(postgres.url("assistant"), size=1, read_only=True) as pool:
        with pytest.raises(psycopg.errors.DivisionByZero):
            pool.read("", b"SELECT 1/%(by)s::int", {"by": 0})
        with pytest.raises(psycopg.errors.InvalidParameterValue):
            pool.read("", b"SELECT 1", {}, {"enable_sort": "perhaps"})
        assert pool.read("", b"SELECT 1", {}) == [(1,)]


def test_reading_ends_at_the_deadline(postgres: Any) -> None:
    with Pool(postgres.url("assistant"), size=1, deadline_s=DEADLINE_S, read_only=True) as pool:
        start = time.monotonic()
        with pytest.raises(TryLater):
            pool.read("", b"SELECT pg_sleep(30)", {})
        assert time.monotonic() - start < DEADLINE_S + SLACK_S
        assert pool.read("", b"SELECT 1", {}) == [(1,)]


def test_a_stopped_server_is_waited_for_until_the_deadline_only(own_server: LocalServer) -> None:
    url = own_server.url("postgres", "secret", "postgres")
    with Pool(url, size=2, deadline_s=DEADLINE_S) as pool:
        pool.ask()
        with psycopg.connect(url) as watcher:
            pids = watcher.execute(
                "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
                " AND pid <> pg_backend_pid()"
            ).fetchall()
        stopped = [own_server.pid, *(pid for (pid,) in pids)]
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        try:
            for _ in range(4):
                start = time.monotonic()
                with pytest.raises(TryLater):
                    pool.ask()
                assert time.monotonic() - start < DEADLINE_S + SLACK_S
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        _until_it_answers(pool)


def test_the_return_of_a_killed_server_is_noticed(own_server: LocalServer) -> None:
    url = own_server.url("postgres", "secret", "postgres")
    with Pool(url, size=4, deadline_s=DEADLINE_S) as pool:
        barrier = threading.Barrier(4)

        def hold(_: int) -> None:
            with pool.transaction():
                barrier.wait(5)

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(hold, range(4)))
        own_server.stop()
        start = time.monotonic()
        with pytest.raises(TryLater):
            pool.ask()
        assert time.monotonic() - start < DEADLINE_S + SLACK_S
        time.sleep(4 * DEADLINE_S)
        with own_server:
            _until_it_answers(pool)


def test_connections_that_a_restart_closed_are_replaced_unseen(own_server: LocalServer) -> None:
    url = own_server.url("postgres", "secret", "postgres")
    with Pool(url, size=2, deadline_s=5) as pool:
        pool.ask()
        own_server.stop()
        with own_server:
            pool.ask()


def test_what_is_read_is_sent_again_after_a_restart(own_server: LocalServer) -> None:
    url = own_server.url("postgres", "secret", "postgres")
    with Pool(url, size=2, deadline_s=5, read_only=True) as pool:
        pool.ask()
        own_server.stop()
        with own_server:
            assert pool.read("", b"SELECT 1", {}) == [(1,)]


def _until_it_answers(pool: Pool) -> None:
    give_up = time.monotonic() + 5
    while True:
        try:
            return pool.ask()
        except TryLater:
            assert time.monotonic() < give_up
