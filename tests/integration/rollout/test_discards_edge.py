"""The controller asks a real agent's HTTP what the lanes threw away."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

import pytest

from observability.agent.service import Service
from observability.agent.totals import Totals
from rollout.discards import Discards
from rollout.discardsource import read
from rollout.samples import SamplesUnreadable, urllib_get


def test_what_an_agent_answers_is_what_the_controller_reads() -> None:
    tokens = {"generated": 20, "handed": 20, "delivered": 5, "discarded": 15, "seconds": 0.5}
    request: dict[str, Any] = {
        "layer": "ring", "request_id": "r", "intent": "complaint", "lane": "blue",
        "total_ms": 1500, "tokens": tokens,
    }  # fmt: skip
    totals = Totals()
    totals.add([request, request, request | {"tokens": {}}, request | {"synthetic": True}])
    service = Service(0, totals, Lock(), lambda: True)
    try:
        found = read(urllib_get(f"http://127.0.0.1:{service.port}/scenarios"))
    finally:
        service.close()
    assert found == {("blue", "complaint"): Discards(2, 40, 30, 4.5, 1.0)}


@pytest.fixture(params=["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nX-Long: "])
def trickle(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that goes on sending, a body or a head, as long as somebody reads."""
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(request.param.encode())
            with suppress(ConnectionError):
                while not over.wait(0.02):
                    self.wfile.write(b" ")

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    over.set()
    server.shutdown()
    server.server_close()


def test_a_reply_that_trickles_is_given_up(trickle: str) -> None:
    with pytest.raises(SamplesUnreadable, match="not whole within"):
        urllib_get(trickle, timeout_s=0.2)
