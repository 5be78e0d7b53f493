"""What a request costs in the gateway and in the pipeline beside it, on this machine.

`python -m tests.bench.gateway [--requests 600] [--clients 4]`: starts PostgreSQL, tickets,
pipeline and gateway, asks over kept connections and sessions and over new ones, and prints one
JSON object last: CPU milliseconds a request and the latencies a client saw.
"""

import argparse
import asyncio
import contextlib
import json
import os
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from apps.retrieval.configuration import LOGIN_ROLES
from apps.retrieval.local import LocalServer
from apps.retrieval.migrate import migrate
from rollout.percentile import p95
from tests.integration.gateway.harness import run_gateway
from tests.integration.pipeline.harness import run_pipeline, run_tickets

BALANCE = "我的医疗保险余额还有多少？"
TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Database:
    """What run_tickets needs of a database."""

    server: LocalServer
    passwords: dict[str, str]
    assertion_key: bytes

    def url(self, role: str) -> str:
        return self.server.url(role, self.passwords[role])


@contextmanager
def database(token: str) -> Iterator[Database]:
    with tempfile.TemporaryDirectory(prefix="switchyard-bench-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        password, key = secrets.token_hex(16), secrets.token_bytes(32)
        passwords = {role: secrets.token_hex(16) for role in LOGIN_ROLES}
        with LocalServer(folder / "postgres", password) as server:
            migrate(server.url("postgres", password), passwords, key, {token: "c-1001"})
            yield Database(server, passwords, key)


def cpu_s(pids: list[int]) -> float:
    """CPU seconds so far of those that still run (helpers come and go)."""
    total = 0
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total / TICK


class Client:
    """Asks one question after another; with `keep` on one connection and in one session."""

    def __init__(
        self, url: str, token: str, keep: bool, stream: bool, query: str = BALANCE
    ) -> None:
        self.where = urlsplit(url)
        self.token = token
        self.keep = keep
        self.stream = stream
        self.query = query
        self.session = secrets.token_hex(8)
        self.pair: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self) -> float:
        """Seconds from sending to the reply's last byte."""
        if self.pair is None:
            self.pair = await asyncio.open_connection(self.where.hostname, self.where.port)
        reader, writer = self.pair
        session = self.session if self.keep else secrets.token_hex(8)
        body = json.dumps(
            {
                "query": self.query,
                "session": session,
                "message_id": secrets.token_hex(8),
                "stream": self.stream,
            }
        ).encode()
        begin = time.perf_counter()
        writer.write(
            f"POST /v1/chat HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {self.token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        if not head.startswith(b"http/1.1 200"):
            raise SystemExit(f"the gateway answered {head.splitlines()[0].decode()}")
        reply = b""
        if self.stream:
            while size := int(await reader.readline(), 16):
                reply += await reader.readexactly(size + 2)
            await reader.readline()
        else:
            reply = await reader.readexactly(int(head.partition(b"content-length: ")[2].split()[0]))
        seconds = time.perf_counter() - begin
        if b'"status":"ok"' not in reply:
            raise SystemExit(f"a reply was not a whole one: {reply[-300:].decode()}")
        if not self.keep:
            writer.close()
            self.pair = None
        return seconds


async def load(url: str, token: str, requests: int, clients: int, **how: Any) -> list[float]:
    """Seconds of each request."""

    async def one() -> list[float]:
        client = Client(url, token, **how)
        return [await client.ask() for _ in range(requests // clients)]

    everyone = await asyncio.gather(*(one() for _ in range(clients)))
    return [seconds for times in everyone for seconds in times]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=600)
    parser.add_argument("--clients", type=int, default=4)
    wanted = parser.parse_args()
    token, figures = secrets.token_urlsafe(24), {}
    with (
        database(token) as data,
        run_tickets(data) as tickets,
        run_pipeline(data.url("assistant"), tickets) as pipeline,
        tempfile.TemporaryDirectory() as folder,
        run_gateway(
            data.url("gateway"), data.assertion_key, pipeline.grpc, Path(folder)
        ) as gateway,
    ):
        models = [pid for pids in pipeline.stubs().values() for pid in pids]
        models.append(pipeline.server_pid())
        for keep in (True, False):
            for stream in (False, True):
                name = f"{'kept' if keep else 'new'}_{'sse' if stream else 'json'}"
                asyncio.run(load(gateway.url, token, 40, 4, keep=keep, stream=stream))
                before = cpu_s([gateway.process.pid]), cpu_s(models)
                times = asyncio.run(
                    load(
                        gateway.url,
                        token,
                        wanted.requests,
                        wanted.clients,
                        keep=keep,
                        stream=stream,
                    )
                )
                after = cpu_s([gateway.process.pid]), cpu_s(models)
                count = len(times)
                figures[name] = {
                    "gateway_cpu_ms": round((after[0] - before[0]) / count * 1000, 2),
                    "pipeline_cpu_ms": round((after[1] - before[1]) / count * 1000, 2),
                    "p50_ms": round(sorted(times)[count // 2] * 1000, 1),
                    "p95_ms": round(p95(times) * 1000, 1),
                }
                print(f"{name:9} {figures[name]}", flush=True)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
