"""The endpoint as it is served: a process, the real model, and clients that misbehave."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import numpy as np
import pytest

from apps.embedder import Embedder, default_model
from apps.embedder.app import BODY_TIMEOUT_S
from apps.embedder.order import MAX_BYTES, MAX_TEXTS
from apps.gateway.protocol import REQUEST_S

START_S = 60
# For what this machine's other work takes.
SLACK_S = 20


@dataclass(frozen=True)
class Served:
    process: subprocess.Popen[bytes]
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def post(self, **how: object) -> httpx.Response:
        return httpx.post(f"{self.url}/v1/embeddings", timeout=60, **how)  # type: ignore[arg-type]

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=REQUEST_S + SLACK_S)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    default_model()  # built here, not while the endpoint starts
    port = free_port()
    environment = os.environ | {"PORT": str(port)}
    process = subprocess.Popen([sys.executable, "-m", "apps.embedder"], env=environment)
    one = Served(process, port)
    try:
        deadline = time.monotonic() + START_S
        while True:
            assert process.poll() is None
            try:
                assert httpx.get(f"{one.url}/readyz", timeout=5).text == "ok\n"
                break
            except httpx.TransportError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        yield one
        process.send_signal(signal.SIGTERM)
        assert process.wait(START_S) == 0
    finally:
        process.kill()
        process.wait()


def rest(connection: socket.socket) -> bytes:
    """Everything until the other side closes."""
    received = b""
    try:
        while data := connection.recv(65536):
            received += data
    except ConnectionResetError:
        pass
    return received


def test_texts_of_both_languages_become_the_embedders_vectors_and_what_was_cut_is_said(
    served: Served,
) -> None:
    texts = ["资产总计 1,234.00", "word " * 600, "<mask></s><s>", "😀 𠮷"]
    reply = served.post(json={"input": texts, "input_type": "passage"})
    assert reply.status_code == 200
    with Embedder.open(default_model()) as embedder:
        expected = embedder.embed(texts, "passage")
        assert reply.json()["model"] == embedder.model
    data = reply.json()["data"]
    vectors = np.array([one["embedding"] for one in data], np.float32)
    np.testing.assert_array_equal(vectors, expected.vectors)
    assert [one["cut"] for one in data] == expected.cut.tolist()
    assert [one["tokens"] for one in data] == expected.tokens.tolist()
    assert data[1]["tokens"] == 512
    assert data[1]["cut"] > 80
    assert data[0]["cut"] == 0


def test_as_many_texts_as_are_allowed_are_answered_and_one_more_is_not(served: Served) -> None:
    reply = served.post(json={"input": ["a"] * MAX_TEXTS})
    assert (reply.status_code, len(reply.json()["data"])) == (200, MAX_TEXTS)
    reply = served.post(json={"input": ["a"] * (MAX_TEXTS + 1)})
    assert (reply.status_code, "65 texts" in reply.json()["error"]) == (400, True)


def test_a_body_as_long_as_is_allowed_is_answered_and_a_longer_one_is_not(served: Served) -> None:
    frame = len(json.dumps({"input": ""}))
    reply = served.post(content=json.dumps({"input": "a" * (MAX_BYTES - frame)}).encode())
    assert (reply.status_code, reply.json()["data"][0]["tokens"]) == (200, 512)
    with served.connect() as connection:
        # More than it reads: the rest must not be taken for another request.
        head = f"POST /v1/embeddings HTTP/1.1\r\nhost: a\r\ncontent-length: {MAX_BYTES * 2}\r\n\r\n"
        connection.sendall(head.encode() + b"a" * (MAX_BYTES + 1))
        answer = rest(connection)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[1]", b"\xff", b'{"input": 1e999}', b"[" * 100_000, b'{"input": "\\ud800"}'],
)
def test_what_is_no_order_is_refused_in_a_line(served: Served, body: bytes) -> None:
    reply = served.post(content=body)
    assert reply.status_code == 400
    assert "\n" not in reply.json()["error"]


def test_what_is_no_http_is_refused(served: Served) -> None:
    with served.connect() as connection:
        connection.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
        assert rest(connection).startswith(b"HTTP/1.1 400 ")


def test_clients_that_send_slowly_are_let_go_and_keep_nobody_waiting(served: Served) -> None:
    head = b"POST /v1/embeddings HTTP/1.1\r\nhost: a\r\ncontent-length: 90\r\n\r\n{"
    begun = time.monotonic()
    # More than may be computed at once.
    slow = [served.connect() for _ in range(30)]
    silent = served.connect()
    try:
        for connection in slow:
            connection.sendall(head)
        silent.sendall(b"POST /v1/emb")
        assert served.post(json={"input": "a"}).status_code == 200
        assert all(rest(connection).startswith(b"HTTP/1.1 408 ") for connection in slow)
        assert time.monotonic() - begun < BODY_TIMEOUT_S + SLACK_S
        assert rest(silent) == b""
        assert time.monotonic() - begun < REQUEST_S + SLACK_S
    finally:
        for connection in [*slow, silent]:
            connection.close()


def test_a_client_that_leaves_costs_nothing_but_its_own_answer(served: Served) -> None:
    with served.connect() as connection:
        head = b"POST /v1/embeddings HTTP/1.1\r\nhost: a\r\ncontent-length: 90\r\n\r\n{"
        connection.sendall(head)
    assert served.post(json={"input": "a"}).status_code == 200


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"PORT": "http"}, "PORT"), ({"EMBEDDER_MODEL": "/nowhere"}, "apps.embedder.build")],
)
def test_a_wrong_setting_is_one_line_and_no_start(settings: dict[str, str], why: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "apps.embedder"],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=START_S,
    )
    assert done.returncode == 2
    assert why in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
