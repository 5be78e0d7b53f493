"""The client of the tickets service against a server that misbehaves."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from apps.pipeline.failure import Unavailable
from apps.pipeline.tickets import Complaint, Ticket, Tickets

COMPLAINT = Complaint("v1.c.s.1.x", "m-1", "I complain\nabout “this” 余额", "en")
OK = (200, b'{"id": "T-000001", "created": false}')


class Server(ThreadingHTTPServer):
    """Answers each POST with the next of `script`, the last one for ever; None hangs up."""

    script: list[tuple[int, bytes] | None]
    bodies: list[dict[str, Any]]
    peers: list[Any]
    daemon_threads = True


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server
    timeouts: ClassVar[int] = 5

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append(json.loads(body))
        self.server.peers.append(self.client_address)
        script = self.server.script
        answer = script.pop(0) if len(script) > 1 else script[0]
        if answer is None:
            self.close_connection = True
            return
        self.send_response(answer[0])
        self.send_header("Content-Length", str(len(answer[1])))
        self.end_headers()
        self.wfile.write(answer[1])

    def log_message(self, format: str, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server(("127.0.0.1", 0), Handler)
    one.bodies, one.peers = [], []
    threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield one
    one.shutdown()
    one.server_close()


def client(server: Server) -> Tickets:
    return Tickets(f"http://127.0.0.1:{server.server_address[1]}")


def test_a_complaint_becomes_a_ticket_over_one_connection(server: Server) -> None:
    server.script = [(201, b'{"id": "T-000001", "created": true}'), OK]
    tickets = client(server)
    assert tickets.open(COMPLAINT) == Ticket("T-000001", True)
    assert tickets.open(COMPLAINT) == Ticket("T-000001", False)
    assert server.bodies == [COMPLAINT.__dict__] * 2
    assert server.peers[0] == server.peers[1]


@pytest.mark.parametrize("bad", [None, (500, b"oops"), (503, b"")])
def test_a_broken_connection_or_a_5xx_is_tried_again_with_the_same_body(
    server: Server, bad: tuple[int, bytes] | None
) -> None:
    server.script = [bad, bad, OK]
    assert client(server).open(COMPLAINT).id == "T-000001"
    assert server.bodies == [COMPLAINT.__dict__] * 3


@pytest.mark.parametrize("status", [400, 401, 413, 422])
def test_a_refusal_is_not_repeated(server: Server, status: int) -> None:
    server.script = [(status, b"no")]
    with pytest.raises(Unavailable, match=f"status {status}"):
        client(server).open(COMPLAINT)
    assert len(server.bodies) == 1


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"[]",
        b"null",
        b"{}",
        b'{"id": 1}',
        b"[" * 50_000,
        b"\xff",
        b'{"id":"T"' + b" " * 99_999,
    ],
)
def test_an_answer_that_is_no_ticket_is_unavailable(server: Server, reply: bytes) -> None:
    server.script = [(200, reply)]
    with pytest.raises(Unavailable, match="not a ticket"):
        client(server).open(COMPLAINT)


def test_nobody_there_ends_at_the_deadline() -> None:
    begun = time.monotonic()
    with pytest.raises(Unavailable, match="cannot be reached"):
        Tickets("http://127.0.0.1:1").open(COMPLAINT, deadline_s=0.3)
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize("url", ["", "tickets:8080", "https://x", "http://", "file:///etc/passwd"])
def test_a_url_that_cannot_be_used_is_refused_at_once(url: str) -> None:
    with pytest.raises(ValueError, match="TICKETS_URL must look like"):
        Tickets(url)
