"""The ticket service as its own process on a free port, against the real database."""

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Tickets:
    """The running service; `staff` carries the staff's token."""

    url: str
    staff_token: str
    pid: int

    @property
    def staff(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.staff_token}"}


@contextmanager
def serving(database_url: str) -> Iterator[Tickets]:
    """Run the service for the block; fail if it does not stop by itself."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_urlsafe(24)
    env = {
        "PATH": os.environ["PATH"],
        "PORT": str(port),
        "LANE": "blue",
        "DATABASE_URL": database_url,
        "STAFF_TOKEN": token,
    }
    process = subprocess.Popen([sys.executable, "-m", "apps.tickets"], env=env, cwd=ROOT)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait(f"{url}/livez", process)
        yield Tickets(url, token, process.pid)
    finally:
        process.terminate()
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def _wait(url: str, process: "subprocess.Popen[bytes]") -> None:
    give_up = time.monotonic() + 30
    while True:
        try:
            httpx.get(url, timeout=1).raise_for_status()
            return
        except httpx.HTTPError:
            assert process.poll() is None, "the service ended"
            assert time.monotonic() < give_up, "the service does not answer"
            time.sleep(0.1)


@pytest.fixture(scope="session")
def running_tickets(running_postgres: Any) -> Iterator[Tickets]:
    with serving(running_postgres.url("tickets")) as tickets:
        yield tickets


@pytest.fixture
def start_tickets() -> Iterator[Callable[[str], Tickets]]:
    """A function that starts a service of the test's own against a database URL."""
    with ExitStack() as stack:
        yield lambda url: stack.enter_context(serving(url))


@pytest.fixture
def tickets(running_tickets: Tickets, postgres: Any) -> Tickets:
    """The running service with an empty table."""
    return running_tickets
