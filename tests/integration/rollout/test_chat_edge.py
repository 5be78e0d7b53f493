"""The HTTP edges of the examination on real sockets: every failure is one clear line."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from rollout.chat import Answer, Question, ask
from rollout.http_edge import ChatFailed, UrllibHttp
from rollout.samples import MAX_BYTES, SamplesUnreadable, fetch

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
META = b'event: meta\ndata: {"intent":"other","language":"en","facts":[]}\n\n'
DONE = b'event: done\ndata: {"status":"ok","reason":null}\n\n'
Behave = Callable[[socket.socket], None]


def chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


class Server:
    """Accepts connections and lets `behave` answer each, once its request is there."""

    def __init__(self, behave: Behave) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.behave = behave
        self.connections = 0
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.connections += 1
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while connection.recv(65536):
                self.behave(connection)


@pytest.fixture
def start() -> Iterator[Callable[[Behave], Server]]:
    servers: list[Server] = []

    def one(behave: Behave) -> Server:
        servers.append(Server(behave))
        return servers[-1]

    yield one
    for server in servers:
        server.listener.close()


def hold(url: str, timeout_s: float = 1.0, http: UrllibHttp | None = None) -> Answer:
    return ask(
        http or UrllibHttp(),
        url,
        "token",
        Question("hello", "s", "m"),
        timeout_s=timeout_s,
        clock=time.monotonic,
    )


def drip(connection: socket.socket) -> None:
    connection.sendall(HEAD)
    for _ in range(100):
        connection.sendall(chunk(b": still here\n\n"))
        time.sleep(0.05)


def cut(connection: socket.socket) -> None:
    connection.sendall(HEAD + chunk(META) + b"40\r\nevent: del")
    connection.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("behave", "wrong"),
    [
        (lambda c: time.sleep(3), "timed out"),
        (cut, "broke off"),
        (drip, "did not end in time"),
        (lambda c: c.sendall(HEAD + chunk(META) + b"0\r\n\r\n"), "without its done event"),
        (
            lambda c: c.sendall(
                b"HTTP/1.1 302 Found\r\nLocation: http://x/\r\nContent-Length: 0\r\n\r\n"
            ),
            "HTTP 302",
        ),
        (lambda c: c.sendall(b"nonsense\r\n\r\n"), "127.0.0.1"),
        (lambda c: c.sendall(b"HTTP/1.1 503 X\r\nContent-Length: 4\r\n\r\nbusy"), "HTTP 503: busy"),
    ],
)
def test_each_bad_reply_is_one_line_within_the_time_allowed(
    start: Callable[[Behave], Server], behave: Behave, wrong: str
) -> None:
    server = start(behave)
    begin = time.monotonic()
    with pytest.raises(ChatFailed) as error:
        hold(server.url)
    assert wrong in str(error.value)
    assert "\n" not in str(error.value)
    assert time.monotonic() - begin < 2.5


def test_nobody_listening_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ChatFailed, match="refused"):
        hold(f"http://127.0.0.1:{port}")


def test_a_connection_is_used_again_after_a_whole_reply_and_not_after_a_cut_one(
    start: Callable[[Behave], Server],
) -> None:
    whole = start(lambda c: c.sendall(HEAD + chunk(META + DONE) + b"0\r\n\r\n"))
    http = UrllibHttp()
    for _ in range(3):
        assert hold(whole.url, http=http).status == "ok"
    assert whole.connections == 1
    broken = start(cut)
    for _ in range(3):
        with pytest.raises(ChatFailed):
            hold(broken.url, http=http)
    assert broken.connections == 3


@pytest.mark.parametrize(
    ("answer", "wrong"),
    [
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "HTTP 404"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", "not a page of samples"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b" " * (MAX_BYTES + 2), "ask for fewer"),
    ],
)
def test_samples_that_cannot_be_read_are_one_line(
    start: Callable[[Behave], Server], answer: bytes, wrong: str
) -> None:
    def behave(connection: socket.socket) -> None:
        connection.sendall(answer)
        connection.shutdown(socket.SHUT_RDWR)

    with pytest.raises(SamplesUnreadable) as error:
        fetch(start(behave).url, 0)
    assert wrong in str(error.value)
    assert "\n" not in str(error.value)
