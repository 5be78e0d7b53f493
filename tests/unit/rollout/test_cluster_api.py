"""The API client on real sockets: one connection a thread, clear errors, no blind repetition."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from rollout import access
from rollout.cluster import Api, apps, core
from rollout.errors import ApiError, ApiUnavailable, Conflict, Refused

ANSWERS = {
    "/gone": (404, {"message": "not found"}),
    "/conflict": (409, {"message": "exists"}),
    "/late": (422, {"message": "test failed"}),
    "/busy": (429, {"message": "slow down"}),
    "/down": (500, {"message": "etcd"}),
    "/no": (403, {"message": "forbidden:\n  not you"}),
}


class Server(ThreadingHTTPServer):
    """Counts connections; closes each after `limit` answers."""

    daemon_threads = True
    connections = 0
    limit = 1000
    silent = False
    seen: list[tuple[str, str, Any, str]] = []  # noqa: RUF012


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1
        self.answered = 0

    def answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        kind = self.headers.get("Content-Type", "")
        self.server.seen.append((self.command, self.path, body, kind))
        bare = ANSWERS.get(self.path.partition("?")[0], (200, {"items": [], "path": self.path}))
        status, data = ANSWERS.get(self.path, bare)
        text = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
        self.answered += 1
        # A server may close a kept connection at any time, without a word.
        self.close_connection = self.answered >= self.server.limit

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    made.seen = []
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def client(server: Server, token: str = "") -> Api:
    return Api(
        access.Access("127.0.0.1", server.server_address[1], None, access.Token(token)), timeout_s=2
    )


def test_a_thread_keeps_one_connection(server: Server) -> None:
    api = client(server)
    for _ in range(5):
        api.get("/x")
    assert server.connections == 1


def test_calls_together_use_connections_that_are_kept_too(server: Server) -> None:
    api = client(server)
    for _ in range(3):
        api.together([lambda: api.get("/x")] * 12)
    assert server.connections <= 6


def test_a_kept_connection_that_the_server_closed_is_opened_again(server: Server) -> None:
    server.limit = 1
    api = client(server)
    assert [api.get("/x") is not None for _ in range(3)] == [True] * 3
    assert server.connections == 3


def test_a_server_that_is_not_there_is_one_clear_line() -> None:
    api = Api(access.Access("127.0.0.1", 1, None, access.Token()), timeout_s=1)
    with pytest.raises(ApiUnavailable, match=r"API server 127\.0\.0\.1:1: .*refused"):
        api.get("/x")


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/conflict", Conflict),
        ("/busy", ApiUnavailable),
        ("/down", ApiUnavailable),
        ("/no", ApiError),
        ("/gone", ApiError),
    ],
)
def test_each_refusal_has_its_class_and_one_line(
    server: Server, path: str, error: type[Exception]
) -> None:
    with pytest.raises(error) as caught:
        client(server).create(path, {})
    assert "\n" not in str(caught.value)


def test_a_failed_test_of_a_patch_is_refused_and_an_absent_object_is_none(server: Server) -> None:
    api = client(server)
    with pytest.raises(Refused):
        api.patch("/late", [])
    assert api.get("/gone") is None
    api.delete("/gone")


def test_writes_name_the_field_manager_and_their_kind(server: Server) -> None:
    api = client(server, "secret")
    api.patch("/x", [{"op": "test"}])
    api.apply("/x", {"a": 1}, "rollout-lane", force=True)
    assert server.seen[0][1:] == (
        "/x?fieldManager=rollout", [{"op": "test"}], "application/json-patch+json",
    )  # fmt: skip
    assert server.seen[1][1] == "/x?fieldManager=rollout-lane&force=true"
    assert server.seen[1][3] == "application/apply-patch+yaml"


def test_a_label_selector_is_quoted(server: Server) -> None:
    client(server).items("/x", "lane in (blue,green)")
    assert server.seen[0][1] == "/x?labelSelector=lane+in+%28blue%2Cgreen%29"


def test_a_large_collection_comes_in_pages(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {"": ([1, 2], "next 2"), "next+2": ([3, 4], "next 4"), "next+4": ([], "")}
    for more, (items, following) in pages.items():
        metadata = {"continue": following} if following else {}
        path = f"/x?limit=2&labelSelector=a&continue={more}"
        monkeypatch.setitem(ANSWERS, path, (200, {"items": items, "metadata": metadata}))
    assert list(client(server).pages("/x", "a", 2)) == [[1, 2], [3, 4], []]


def test_paths_of_objects() -> None:
    assert core("a", "services", "b") == "/api/v1/namespaces/a/services/b"
    assert apps("a") == "/apis/apps/v1/namespaces/a/deployments"
    assert core("a/b", "services") == "/api/v1/namespaces/a/b/services".replace("a/b", "a%2Fb")
