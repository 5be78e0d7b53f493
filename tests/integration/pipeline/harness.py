"""Start the real pipeline and the real tickets service for a test, and talk to them."""

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tritonclient.grpc as triton

from apps.pipeline.metrics import progress
from apps.pipeline.processes import stubs

ROOT = Path(__file__).parents[3]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def get(url: str) -> tuple[int, str]:
    """(status, body); (0, reason) when nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


def wait_for(url: str, seconds: float, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + seconds
    answer: tuple[int, str] = (0, "")
    while time.monotonic() < end:
        assert process.poll() is None, f"ended with {process.returncode} before {url} was ready"
        answer = get(url)
        if answer[0] == 200:
            return
        time.sleep(0.2)
    raise AssertionError(f"{url} is not ready after {seconds} s: {answer}")


def tensor(name: str, value: str | bytes) -> Any:
    raw = value.encode() if isinstance(value, str) else value
    one = triton.InferInput(name, [1], "BYTES")
    one.set_data_from_numpy(np.array([raw], np.object_))
    return one


@dataclass
class Pipeline:
    """One running supervisor."""

    process: "subprocess.Popen[bytes]"
    grpc: str
    health: str
    client: Any = field(init=False)

    def __post_init__(self) -> None:
        self.client = triton.InferenceServerClient(self.grpc)

    def ask(
        self,
        query: str | bytes,
        assertion: str = "",
        message_id: str = "m-1",
        request_id: str = "r-1",
        timeout: float = 20,
    ) -> dict[str, Any]:
        inputs = [
            tensor("query", query),
            tensor("assertion", assertion),
            tensor("message_id", message_id),
            tensor("request_id", request_id),
        ]
        result = self.client.infer("assistant", inputs, client_timeout=timeout)
        reply: dict[str, Any] = json.loads(result.as_numpy("result")[0])
        return reply

    def stubs(self) -> dict[str, list[int]]:
        """{model: pids} of the model processes."""
        found: dict[str, list[int]] = {}
        for pid, model in stubs(self.server_pid()).items():
            found.setdefault(model, []).append(pid)
        return found

    def server_pid(self) -> int:
        text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return int(text.split()[0])


@contextmanager
def run_pipeline(database_url: str, tickets_url: str, **more: str) -> Iterator[Pipeline]:
    ports = {name: str(free_port()) for name in ("GRPC_PORT", "HEALTH_PORT", "METRICS_PORT")}
    environment = {
        **os.environ,
        "DATABASE_URL": database_url,
        "TICKETS_URL": tickets_url,
        "LANE": "local",
        **ports,
        **more,
    }
    process = subprocess.Popen([sys.executable, "-m", "apps.pipeline"], cwd=ROOT, env=environment)
    try:
        health = f"http://127.0.0.1:{ports['HEALTH_PORT']}"
        wait_for(f"{health}/readyz", 180, process)
        yield Pipeline(process, f"127.0.0.1:{ports['GRPC_PORT']}", health)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(40)


@contextmanager
def slowed(pipeline: Pipeline) -> Iterator[None]:
    """The engine gets a tenth of its time, so that an answer runs for seconds on any CPU."""
    engines = pipeline.stubs()["answer"]
    over = threading.Event()

    def alternate() -> None:
        while not over.is_set():
            for pid in engines:
                os.kill(pid, signal.SIGSTOP)
            over.wait(0.09)
            for pid in engines:
                os.kill(pid, signal.SIGCONT)
            over.wait(0.01)

    thread = threading.Thread(target=alternate)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def run_tickets(postgres: Any, port: str = "") -> Iterator[str]:
    port = port or str(free_port())
    environment = {
        **os.environ,
        "DATABASE_URL": postgres.url("tickets"),
        "ASSERTION_KEY": postgres.assertion_key.hex(),
        "STAFF_TOKEN": "staff-token-of-the-tests",
        "LANE": "local",
        "HOST": "127.0.0.1",
        "PORT": port,
    }
    process = subprocess.Popen([sys.executable, "-m", "apps.tickets"], cwd=ROOT, env=environment)
    try:
        wait_for(f"http://127.0.0.1:{port}/readyz", 30, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


PROMPT = "Tell me in a few words why people have insurance."


@dataclass
class Stream:
    """One answer as it comes: arrival times, texts, tokens, the finish or the error."""

    client: Any
    times: list[float] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    events: list[int] = field(default_factory=list)
    made_ns: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    tables: list[list[list[Any]]] = field(default_factory=list)
    finish: str = ""
    error: str = ""
    ended: threading.Event = field(default_factory=threading.Event)
    arrived: "queue.Queue[int]" = field(default_factory=queue.Queue)

    def take(self, result: Any, error: Any) -> None:
        if error is not None:
            self.error = str(error)
            self.ended.set()
            return
        self.times.append(time.monotonic())
        self.texts.append(result.as_numpy("text")[0].decode("utf-8", "strict"))
        self.tokens.append(int(result.as_numpy("token")[0]))
        self.events.append(int(result.as_numpy("event")[0]))
        self.made_ns.append(int(result.as_numpy("at_ns")[0]))
        self.steps.append(int(result.as_numpy("step")[0]))
        self.tables.append(json.loads(result.as_numpy("table")[0]))
        self.finish = result.as_numpy("finish")[0].decode()
        self.arrived.put(len(self.times))
        if self.finish:
            self.ended.set()

    def cancel(self) -> None:
        self.client.stop_stream(cancel_requests=True)


@contextmanager
def stream(
    grpc: str, prompt: str = PROMPT, max_tokens: int = 12, request_id: str = "r"
) -> Iterator[Stream]:
    words = triton.InferInput("prompt", [1], "BYTES")
    words.set_data_from_numpy(np.array([prompt.encode()], np.object_))
    limit = triton.InferInput("max_tokens", [1], "INT32")
    limit.set_data_from_numpy(np.array([max_tokens], np.int32))
    with triton.InferenceServerClient(grpc) as client:
        one = Stream(client)
        client.start_stream(one.take)
        client.async_stream_infer("answer", [words, limit], request_id=request_id)
        yield one


def tokens_made(pipeline: Any) -> float:
    text = Path(f"/proc/{pipeline.process.pid}/environ").read_text()
    port = next(
        v for k, _, v in (w.partition("=") for w in text.split("\0")) if k == "METRICS_PORT"
    )
    return progress(int(port))["answer"]
