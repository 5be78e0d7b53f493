"""Real gateways on the real pipeline, tickets service and PostgreSQL."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import urllib3

from rollout.sse import Event, events
from tests.integration.pipeline.conftest import Pipeline, run_pipeline, run_tickets, wait_for

ROOT = Path(__file__).parents[3]


@dataclass
class Gateway:
    """One running gateway and a client for it."""

    process: "subprocess.Popen[bytes]"
    url: str
    admin: str
    log: Path
    http: urllib3.PoolManager

    def post(
        self, token: str, query: str, *, session: str, message_id: str = "m-1", **more: Any
    ) -> urllib3.BaseHTTPResponse:
        """Send one question; with preload_content=False the reply is left to be read."""
        stream = more.pop("stream", False)
        body = {"query": query, "session": session, "message_id": message_id, "stream": stream}
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        return self.http.request(
            "POST",
            f"{self.url}/v1/chat",
            body=json.dumps(body),
            headers=headers,
            timeout=30,
            retries=False,
            **more,
        )

    def ask(self, token: str, query: str, **more: Any) -> dict[str, Any]:
        """The JSON reply to one question."""
        reply = self.post(token, query, **more)
        assert reply.status == 200, reply.data
        answer: dict[str, Any] = reply.json()
        return answer

    def stream(self, token: str, query: str, **more: Any) -> Iterator[Event]:
        """The events of one streamed reply as they come; closing it closes the connection."""
        reply = self.post(token, query, stream=True, preload_content=False, **more)
        assert reply.status == 200, reply.data
        try:
            yield from events(reply.stream(1))
        finally:
            reply.close()

    def samples(self) -> list[dict[str, Any]]:
        """All samples of the ring."""
        page = self.http.request("GET", f"{self.admin}/samples", retries=False).json()
        found: list[dict[str, Any]] = page["samples"]
        return found

    def lines(self) -> list[dict[str, Any]]:
        """The access log."""
        return [json.loads(line) for line in self.log.read_text().splitlines()]


@contextmanager
def run_gateway(
    database_url: str, key: bytes, pipeline: str, folder: Path, *, wait: bool = True, **more: str
) -> Iterator[Gateway]:
    """A gateway process on free ports; stopped by SIGTERM at the end."""
    environment = {
        **os.environ,
        "LANE": "local",
        "HOST": "127.0.0.1",
        "PORT": "0",
        "ADMIN_PORT": "0",
        "DATABASE_URL": database_url,
        "ASSERTION_KEY": key.hex(),
        "PIPELINE_ADDRESS": pipeline,
        "LAME_DUCK_S": "0",
        **more,
    }
    log = folder / f"access-{time.monotonic_ns()}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "apps.gateway"],
            cwd=ROOT,
            env=environment,
            stdout=out,
            stderr=subprocess.PIPE,
        )
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        assert line.startswith(b"{"), line + process.stderr.read()
        ports = json.loads(line)
        admin = f"http://127.0.0.1:{ports['admin_port']}"
        if wait:
            wait_for(f"{admin}/readyz", 30, process)
        yield Gateway(
            process,
            f"http://127.0.0.1:{ports['port']}",
            admin,
            log,
            urllib3.PoolManager(maxsize=32),
        )
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(30)


@pytest.fixture(scope="session")
def tickets_url(running_postgres: Any) -> Iterator[str]:
    with run_tickets(running_postgres) as url:
        yield url


@pytest.fixture(scope="session")
def lane(running_postgres: Any, tickets_url: str) -> Iterator[Pipeline]:
    """The pipeline that the gateways of these tests share."""
    with run_pipeline(running_postgres.url("assistant"), tickets_url) as pipeline:
        yield pipeline


@pytest.fixture(scope="session")
def start_gateway(
    running_postgres: Any, lane: Pipeline, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Gateway]]:
    """Start a gateway on the shared pipeline; it runs to the end of the tests."""
    folder = tmp_path_factory.mktemp("gateway")
    with ExitStack() as stack:

        def start(**more: str) -> Gateway:
            return stack.enter_context(
                run_gateway(
                    running_postgres.url("gateway"),
                    running_postgres.assertion_key,
                    lane.grpc,
                    folder,
                    **more,
                )
            )

        yield start


@pytest.fixture(scope="session")
def running_gateway(start_gateway: Callable[..., Gateway]) -> Gateway:
    return start_gateway()


@pytest.fixture
def gateway(running_gateway: Gateway, postgres: Any) -> Gateway:
    """The running gateway; no tickets, no sessions."""
    return running_gateway


@pytest.fixture(scope="session")
def second_gateway(start_gateway: Callable[..., Gateway]) -> Gateway:
    """Another gateway process on the same database, as in another lane."""
    return start_gateway(LANE="green")
