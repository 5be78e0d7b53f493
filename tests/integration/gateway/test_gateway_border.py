"""Hostile and mistaken clients: each gets one clear line or a closed connection, nobody a hang."""

import contextlib
import json
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.integration.gateway.harness import Gateway

GOOD = {"query": "hello", "session": "s-border", "message_id": "m-1"}
CHAT = "/v1/chat"
HEAD = "POST /v1/chat HTTP/1.1\r\nHost: x\r\n"


def send(
    gateway: Gateway,
    token: str | None,
    method: str = "POST",
    path: str = CHAT,
    body: bytes | None = None,
    **headers: str,
) -> Any:
    fields = {"content-type": "application/json"}
    if token:
        fields["authorization"] = f"Bearer {token}"
    fields |= {name.replace("_", "-"): value for name, value in headers.items()}
    content = json.dumps(GOOD).encode() if body is None else body
    return gateway.http.request(
        method, gateway.url + path, body=content, headers=fields, retries=False, timeout=10
    )


def raw(gateway: Gateway, data: bytes, seconds: float = 20) -> bytes:
    """All that comes back until the gateway closes the connection."""
    where = urlsplit(gateway.url)
    with socket.create_connection((where.hostname, where.port), timeout=seconds) as connection:
        connection.sendall(data)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
        return answer


@pytest.mark.parametrize(
    ("changes", "http", "wrong"),
    [
        ({"method": "GET", "body": b""}, 405, "does not take this method"),
        ({"method": "PUT"}, 405, "does not take this method"),
        ({"path": "/v1/other"}, 404, "nothing at this path"),
        ({"path": "/v1/chat/"}, 404, "nothing at this path"),
        ({"path": "/page/../settings.py"}, 404, "nothing at this path"),
        ({"path": "/page/%2e%2e/settings.py"}, 404, "nothing at this path"),
        ({"content_type": "text/plain"}, 415, "content type is not JSON"),
        ({"content_type": "application/json; charset=latin-1"}, 415, "content type"),
        ({"content_encoding": "gzip"}, 415, "compressed"),
        ({"token": None}, 401, "no bearer token"),
        ({"authorization": "Basic abc"}, 401, "no bearer token"),
        ({"token": "nobody-knows-this-token"}, 401, "not known"),
        ({"token": "x"}, 401, "not known"),
        ({"token": "' OR 1=1 --' OR 1=1 --"}, 401, "not known"),
        ({"body": b"{"}, 400, "not JSON"),
        ({"body": b"[" * 60_000}, 400, "nested deeper"),
        ({"body": b"\xff"}, 400, "not UTF-8"),
        ({"body": b'{"query": "a", "query": "b"}'}, 400, "stands twice"),
        ({"body": json.dumps(GOOD | {"query": "x" * 4001}).encode()}, 413, "4001 characters"),
        ({"body": b" " * 70_000}, 413, "longer than 65536"),
        ({"body": json.dumps({"query": "x", "session": "s"}).encode()}, 400, "'message_id'"),
    ],
)
def test_each_mistake_gets_its_status_and_one_line(
    gateway: Gateway, postgres: Any, changes: dict[str, Any], http: int, wrong: str
) -> None:
    token = changes.pop("token", postgres.token("c-1002"))
    reply = send(gateway, token, **changes)
    assert reply.status == http, reply.data
    answer = reply.json()
    assert sorted(answer) == ["do", "error"]
    assert wrong in answer["error"]
    assert reply.headers["x-switchyard-lane"] == "local"
    assert len(reply.headers["x-request-id"]) == 32
    assert (reply.headers.get("www-authenticate") == "Bearer") == (http == 401)


def test_the_allowed_method_is_named(gateway: Gateway, postgres: Any) -> None:
    assert send(gateway, None, method="DELETE").headers["allow"] == "POST"
    assert send(gateway, None, path="/", body=b"").headers["allow"] == "GET"


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        (HEAD + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n").encode(),
        (HEAD + "Content-Length: 5\r\nContent-Length: 6\r\n\r\n").encode(),
        (HEAD + "Content-Length: -1\r\n\r\n").encode(),
        (HEAD + "Transfer-Encoding: chunked\r\n\r\nzz\r\n").encode(),
        (HEAD + "X: " + "y" * 20_000 + "\r\n\r\n").encode(),
        (HEAD + "".join(f"x{n}: y\r\n" for n in range(5000)) + "\r\n").encode(),
    ],
)
def test_what_is_not_http_is_refused_and_closed(gateway: Gateway, data: bytes) -> None:
    begin = time.monotonic()
    try:
        answer = raw(gateway, data)
    except ConnectionResetError:
        return
    assert time.monotonic() - begin < 5
    if answer:
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith((b"HTTP/1.1 400", b"HTTP/1.1 431"))
        assert "error" in json.loads(body)


def test_a_header_that_matters_may_stand_only_once(gateway: Gateway, postgres: Any) -> None:
    token = postgres.token("c-1002")
    doubled = f"Authorization: Bearer {token}\r\n" * 2
    answer = raw(
        gateway, (HEAD + doubled + "Connection: close\r\nContent-Length: 0\r\n\r\n").encode()
    )
    assert b"the header authorization stands twice" in answer


def test_an_endless_body_is_cut_off(gateway: Gateway, postgres: Any) -> None:
    head = (
        HEAD + f"Authorization: Bearer {postgres.token('c-1002')}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    try:
        answer = raw(gateway, head.encode() + chunk * 64)
    except (ConnectionResetError, BrokenPipeError):
        return
    assert b"413" in answer


def test_connections_that_only_wait_are_closed_after_ten_seconds(gateway: Gateway) -> None:
    page = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    begin = time.monotonic()

    def wait(sent: bytes) -> tuple[bytes, float]:
        return raw(gateway, sent, 25), time.monotonic() - begin

    with ThreadPoolExecutor() as pool:
        *without, served = pool.map(wait, [b"", b"POST /v1/chat HT", HEAD.encode(), page])
    assert served[0].startswith(b"HTTP/1.1 200")
    assert 8 < served[1] < 17
    for answer, seconds in without:
        assert answer == b""
        assert 8 < seconds < 17


def test_a_body_that_does_not_come_is_a_408(gateway: Gateway, postgres: Any) -> None:
    head = (
        HEAD + f"Authorization: Bearer {postgres.token('c-1002')}\r\n"
        'Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{"que'
    )
    begin = time.monotonic()
    answer = raw(gateway, head.encode(), 25)
    assert answer.startswith(b"HTTP/1.1 408")
    assert time.monotonic() - begin < 14


def test_silent_connections_hold_nobody_up(gateway: Gateway, postgres: Any) -> None:
    where = urlsplit(gateway.url)
    silent = [socket.create_connection((where.hostname, where.port)) for _ in range(300)]
    try:
        begin = time.monotonic()
        assert gateway.ask(postgres.token("c-1001"), "你好", session="s-alive")["status"] == "ok"
        assert time.monotonic() - begin < 2
    finally:
        for connection in silent:
            connection.close()


def test_drain_closes_each_connection_after_its_reply(
    second_gateway: Gateway, postgres: Any
) -> None:
    gateway, token = second_gateway, postgres.token("c-1002")
    assert "connection" not in send(gateway, token).headers
    wrong = gateway.http.request("GET", f"{gateway.admin}/drain", retries=False)
    assert wrong.status == 405
    assert gateway.http.request("POST", f"{gateway.admin}/drain", retries=False).status == 200
    for reply in (send(gateway, token), send(gateway, None), send(gateway, token, path="/x")):
        assert reply.headers["connection"] == "close"
    assert gateway.http.request("GET", f"{gateway.admin}/readyz", retries=False).status == 200


@pytest.mark.parametrize("query", ["after=-1", "after=x", "limit=10001", "after=%D9%A1"])
def test_samples_are_asked_for_with_plain_numbers(gateway: Gateway, query: str) -> None:
    reply = gateway.http.request("GET", f"{gateway.admin}/samples?{query}", retries=False)
    assert reply.status == 400
    assert reply.json()["do"]


def test_pages_of_samples_are_what_the_controller_reads(gateway: Gateway, postgres: Any) -> None:
    from rollout.samples import fetch

    for turn in range(3):
        gateway.ask(postgres.token("c-1001"), "你好", session="s-page", message_id=f"m-{turn}")
    boot, _, samples = fetch(gateway.admin, 0)
    last = samples[-1].seq
    same, after, newest = fetch(gateway.admin, last - 2, limit=2)
    assert (same, after, [sample.seq for sample in newest]) == (boot, last, [last - 1, last])


def test_the_admin_port_serves_the_public_paths_too_and_the_public_port_no_admin_path(
    gateway: Gateway, postgres: Any
) -> None:
    for path in ("/samples", "/drain", "/readyz", "/livez", "/startupz"):
        assert send(gateway, None, method="GET", path=path, body=b"").status == 404
    before = len(gateway.samples())
    through_admin = replace(gateway, url=gateway.admin)
    assert through_admin.ask(postgres.token("c-1001"), "你好", session="s-admin")["status"] == "ok"
    assert len(gateway.samples()) == before + 1
    assert send(through_admin, None).status == 401


def test_parallel_questions_of_one_session_are_all_answered(
    gateway: Gateway, postgres: Any
) -> None:
    token, statuses = postgres.token("c-1001"), []

    def ask(number: int) -> None:
        reply = gateway.post(token, "你好", session="s-same", message_id=f"m-{number}")
        statuses.append(reply.status)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert statuses == [200] * 20


def test_bytes_turned_at_random_never_break_the_gateway(gateway: Gateway, postgres: Any) -> None:
    token = postgres.token("c-1001")
    body = json.dumps(GOOD).encode()
    head = f"{HEAD}Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
    good = f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
    chance = random.Random(20261130)
    where = urlsplit(gateway.url)
    for _ in range(300):
        data = bytearray(good)
        for _ in range(chance.choice((1, 2, 8))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        with socket.create_connection((where.hostname, where.port), timeout=5) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                answer = connection.recv(65536)
                assert not answer.startswith(b"HTTP/1.1 500"), bytes(data)
    assert gateway.ask(token, "你好", session="s-alive")["status"] == "ok"
