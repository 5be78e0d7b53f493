"""The GPU's state, told by an agent that may be silent, slow, stuck, wrong or gone."""

import contextlib
import json
import socket
import threading

import pytest

from apps.gateway import pressure
from apps.gateway.pressure import MAX_BYTES, Pressure, Unreadable, fetch, read

URL = "http://agent:9102/gpu"


def state(at: float, pressed: object) -> bytes:
    gpu = {"uuid": "GPU-1", "memory_used_ratio": 0.99, "controller_ratio": None, "pressed": pressed}
    return json.dumps({"t_unix": at, "gpus": [gpu], "pressed": pressed}).encode()


class Agent:
    """Answers with `says`, or raises it."""

    def __init__(self) -> None:
        self.says: bytes | Exception = b""
        self.now = 100.0
        self.of = Pressure(URL, self.get, lambda: self.now)

    def get(self, url: str) -> bytes:
        assert url == URL
        if isinstance(self.says, Exception):
            raise self.says
        return self.says

    def asked(self, says: bytes | Exception) -> bool:
        self.says = says
        self.of.ask()
        return self.of.pressed


def test_it_is_pressed_while_the_agent_says_so() -> None:
    agent = Agent()
    assert not agent.of.pressed
    assert agent.asked(state(1, True))
    assert agent.asked(state(2, True))
    assert not agent.asked(state(3, False))


@pytest.mark.parametrize("says", [OSError("refused"), TimeoutError(), b"no", Unreadable("500")])
def test_an_agent_that_is_gone_is_believed_for_seconds_and_no_longer(
    says: bytes | Exception,
) -> None:
    agent = Agent()
    agent.asked(state(1, True))
    agent.now += pressure.STALE_S
    assert agent.asked(says)
    agent.now += 0.1
    assert not agent.asked(says)


def test_an_agent_that_stands_still_is_not_believed_for_ever() -> None:
    agent = Agent()
    agent.asked(state(1, True))
    agent.now += pressure.STALE_S + 0.1
    assert not agent.asked(state(1, True))
    assert agent.asked(state(2, True))


def test_the_agents_clock_may_be_wrong() -> None:
    assert Agent().asked(state(-1e12, True))


def test_an_agent_that_is_gone_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    agent = Agent()
    for _ in range(3):
        agent.asked(OSError("refused"))
    assert [one.getMessage() for one in caplog.records] == ["the GPU's state is not known: refused"]
    agent.asked(state(1, False))
    agent.asked(OSError("again"))
    assert len(caplog.records) == 2


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"3",
        b'{"pressed": true}',
        state(1, "yes"),
        state(1, 1),
        state(1, None),
        b'{"t_unix": "1", "pressed": true}',
        b'{"t_unix": true, "pressed": true}',
        *(state(at, True) for at in (float("nan"), float("inf"), 10**400)),
        b"[" * 50_000,
        b"\xff",
    ],
)
def test_what_is_no_state_is_not_believed(body: bytes) -> None:
    with pytest.raises(Unreadable):
        read(body)
    assert not Agent().asked(body)


def served(reply: bytes, *, ends: bool = True) -> bytes:
    """What `fetch` makes of a server that sends `reply`."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(65536)
                connection.sendall(reply)
                if not ends:
                    connection.recv(1)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            return fetch(f"http://127.0.0.1:{server.getsockname()[1]}/gpu")
        finally:
            thread.join()


def test_a_reply_is_fetched_whole() -> None:
    body = state(1, True) + b" " * 30_000
    assert served(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + body) == body


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"HTTP/1.0 404 Not Found\r\n\r\n{}",
        b"HTTP/1.0 302 Found\r\nLocation: http://elsewhere/\r\n\r\n",
        b"SSH-2.0-x\r\n\r\n",
        b"\xff\r\n\r\n",
    ],
)
def test_what_is_no_reply_is_one_line(reply: bytes) -> None:
    with pytest.raises(Unreadable) as error:
        served(reply)
    assert "\n" not in str(error.value)


def test_a_reply_without_end_is_given_up() -> None:
    with pytest.raises(Unreadable):
        served(b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * (MAX_BYTES + 1), ends=False)


def test_nobody_there_is_an_error_that_is_expected() -> None:
    with pytest.raises(ConnectionRefusedError):
        fetch("http://127.0.0.1:1/gpu")
