"""Without its database the service says so, quickly, and recovers by itself."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from apps.retrieval.assertion import sign
from apps.retrieval.configuration import LOGIN_ROLES
from apps.retrieval.local import LocalServer
from apps.retrieval.migrate import migrate

ROOT = Path(__file__).parents[3]
KEY = bytes(range(32))
PASSWORDS = {role: role[0] for role in LOGIN_ROLES}


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with tempfile.TemporaryDirectory(prefix="switchyard-test-") as name:
        Path(name).chmod(0o755)
        with LocalServer(Path(name) / "postgres", "secret", extra={"fsync": "off"}) as server:
            migrate(server.url("postgres", "secret"), PASSWORDS, KEY, {})
            yield server


def test_a_lost_database_is_503_and_its_return_is_noticed(
    server: LocalServer, start_tickets: Any
) -> None:
    tickets = start_tickets(server.url("tickets", "t"))
    body = {"message_id": "m", "query": "q", "language": "en"}

    def post() -> httpx.Response:
        body["assertion"] = sign(KEY, "c-1001", "s", int(time.time()) + 60)
        return httpx.post(f"{tickets.url}/v1/tickets", json=body, timeout=10)

    assert post().json() == {"id": "T-000001", "created": True}
    server.stop()
    start = time.monotonic()
    lost = post()
    assert time.monotonic() - start < 5
    assert lost.status_code == 503
    assert lost.json()["error"].startswith("the database cannot answer now")
    assert lost.headers["retry-after"] == "1"
    assert httpx.get(f"{tickets.url}/livez").status_code == 200
    time.sleep(5)
    assert httpx.get(f"{tickets.url}/readyz", timeout=10).status_code == 503
    with server:
        give_up = time.monotonic() + 10
        while (answer := post()).status_code == 503:
            assert time.monotonic() < give_up
        assert answer.json() == {"id": "T-000001", "created": False}
        assert httpx.get(f"{tickets.url}/readyz").status_code == 200


def test_a_database_without_its_schema_is_not_ready(
    server: LocalServer, start_tickets: Any
) -> None:
    with psycopg.connect(server.url("postgres", "secret"), autocommit=True) as connection:
        connection.execute("DROP FUNCTION tickets.staff_page")
    tickets = start_tickets(server.url("tickets", "t"))
    for _ in range(3):
        answer = httpx.get(f"{tickets.url}/startupz")
        assert (answer.status_code, answer.text) == (503, "the database does not answer\n")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"STAFF_TOKEN": "short"}, "STAFF_TOKEN must hold 16"),
        ({"DATABASE_URL": ""}, "DATABASE_URL must name"),
        ({"PORT": "http"}, "PORT must be a port number"),
    ],
)
def test_a_wrong_setting_is_one_line(changes: dict[str, str], why: str) -> None:
    env = {
        "PATH": os.environ["PATH"],
        "DATABASE_URL": "postgresql://tickets@127.0.0.1:1/x",
        "STAFF_TOKEN": "x" * 16,
        **changes,
    }
    done = subprocess.run(
        [sys.executable, "-m", "apps.tickets"],
        env=env,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert why in done.stderr
    assert len(done.stderr.splitlines()) == 1
