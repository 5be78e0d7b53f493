"""Start real gateways for a test and talk to them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3

from rollout.sse import Event, events
from tests.integration.pipeline.harness import wait_for

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
        stream, timeout = more.pop("stream", False), more.pop("timeout", 30)
        body = {"query": query, "session": session, "message_id": message_id, "stream": stream}
        headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
        return self.http.request(
            "POST",
            f"{self.url}/v1/chat",
            body=json.dumps(body),
            headers=headers,
            timeout=timeout,
            retries=False,
            **more,
        )

    def ask(self, token: str, query: str, **more: Any) -> dict[str, Any]:
        """The JSON reply to one question."""
        reply = self.post(token, query, **more)
        assert reply.status == 200, reply.data
        answer: dict[str, Any] = reply.json()
        return answer

    def stream(self, token: str, query: str, **more: Any) -> Generator[Event, None, None]:
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
    database_url: str,
    key: bytes,
    pipeline: str,
    folder: Path,
    *,
    wait: bool = True,
    around: tuple[str, ...] = (),
    **more: str,
) -> Iterator[Gateway]:
    """A gateway process on free ports; stopped by SIGTERM at the end. `around` are words
    before its `-m apps.gateway`, of a program that runs Python modules."""
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
    errors = log.with_suffix(".err")
    with log.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(
            [sys.executable, *around, "-m", "apps.gateway"],
            cwd=ROOT,
            env=environment,
            stdout=out,
            stderr=err,
        )
    try:
        ports = json.loads(_first_line(errors, process))
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
    assert "Traceback" not in errors.read_text(), errors.read_text()


def _first_line(errors: Path, process: "subprocess.Popen[bytes]") -> str:
    end = time.monotonic() + 30
    while "\n" not in errors.read_text():
        assert process.poll() is None, errors.read_text()
        assert time.monotonic() < end, "the gateway does not say where it listens"
        time.sleep(0.05)
    return errors.read_text().partition("\n")[0]
