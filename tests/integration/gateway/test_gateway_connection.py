"""The connection's own bounds, on real sockets with the clocks turned forward."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import uvicorn

from apps.gateway import protocol
from apps.gateway.protocol import Connection


class Huge:
    """An application that sends 256 MiB, and notes when its client was gone."""

    def __init__(self) -> None:
        self.gone = threading.Event()

    async def __call__(self, scope: Any, receive: Callable[..., Any], send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(256):
            await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})
        assert (await receive())["type"] == "http.disconnect"
        self.gone.set()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Huge, tuple[str, int]]]:
    monkeypatch.setattr(protocol, "TAKE_S", 0.5)
    monkeypatch.setattr(protocol, "MAX_CONNECTIONS", 3)
    application = Huge()
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        application,
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        timeout_graceful_shutdown=1,
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=lambda: asyncio.run(running.serve([listener])))
    thread.start()
    yield application, listener.getsockname()
    running.should_exit = True
    thread.join(10)


def test_a_client_that_does_not_take_its_reply_is_let_go(
    server: tuple[Huge, tuple[str, int]],
) -> None:
    application, address = server
    with socket.create_connection(address) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        begin = time.monotonic()
        assert application.gone.wait(5)
        assert time.monotonic() - begin < 4


def test_more_connections_than_the_bound_are_closed_at_once(
    server: tuple[Huge, tuple[str, int]],
) -> None:
    _, address = server
    kept = [socket.create_connection(address, timeout=3) for _ in range(3)]
    time.sleep(0.2)
    with socket.create_connection(address, timeout=3) as one_more:
        assert one_more.recv(1) == b""
    kept.pop().close()
    time.sleep(0.2)
    with socket.create_connection(address, timeout=1) as another, pytest.raises(TimeoutError):
        another.recv(1)
    for connection in kept:
        connection.close()
