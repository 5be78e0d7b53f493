"""The webhook and the status page on real sockets."""

from __future__ import annotations

import base64
import http.client
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rollout import push
from rollout.actions import Wait
from rollout.cluster import core
from rollout.jobs import Jobs
from rollout.observation import Observation
from rollout.perform import Performer
from rollout.picture import Picture
from rollout.plan import Plan
from rollout.push import BadPush
from rollout.web import MAX_BODY, Server
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import NAMES, api, installed, state

SHA = "a" * 40
GOOD = {"ref": "refs/heads/main", "after": SHA}


@dataclass
class Site:
    server: Server
    fake: FakeApi
    woken: threading.Event

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> tuple[int, Any]:
        port = self.server.server_address[1]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        plain = answer.headers["Content-Type"] == "application/json"
        return answer.status, json.loads(text) if plain else text

    def tell(self, body: Any, token: str = "t0p") -> tuple[int, Any]:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", "/push", raw, {"Authorization": f"Bearer {token}"})


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    fake, woken = installed(), threading.Event()
    token = base64.b64encode(b"t0p").decode()
    fake.put(core(NAMES.control, "secrets", "webhook"), data={"token": token})
    performer = Performer(
        api=api(fake), names=NAMES, jobs=Jobs(woken.set), folder=tmp_path, checks=[]
    )
    server = Server(("127.0.0.1", 0), api(fake), NAMES, Picture(), performer, woken)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield Site(server, fake, woken)
    server.shutdown()
    server.server_close()


def test_a_push_is_queued_and_wakes_the_loop(site: Site) -> None:
    assert site.tell(GOOD) == (202, {"said": f"{SHA[:12]} accepted"})
    waiting = state(site.fake).queue
    assert waiting is not None
    assert (waiting.commit, waiting.by) == (SHA, "hook")
    assert site.woken.is_set()
    assert site.tell(GOOD) == (200, {"said": f"{SHA[:12]} already waits"})


def test_only_the_token_of_the_secret_opens(site: Site) -> None:
    for token in ("", "wrong", "t0pp", "t0"):
        assert site.tell(GOOD, token)[0] == 401
    assert site.ask("POST", "/push", b"{}")[0] == 401
    assert state(site.fake).queue is None


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[]", b"null", b'"x"', b"{}", b'{"ref": "refs/heads/main"}', b"[" * 30_000,
        json.dumps({**GOOD, "after": "main"}).encode(), json.dumps({**GOOD, "ref": 1}).encode(),
        json.dumps({**GOOD, "after": "A" * 40}).encode(), b"\xff\xfe",
    ],
)  # fmt: skip
def test_a_body_that_is_no_push_is_a_clear_400(site: Site, body: bytes) -> None:
    code, answer = site.tell(body)
    assert code == 400
    assert "send" in answer["error"]
    assert "\n" not in answer["error"]


def test_a_body_that_is_too_long_is_refused_unread(site: Site) -> None:
    headers = {"Authorization": "Bearer t0p", "Content-Length": str(MAX_BODY + 1)}
    assert site.ask("POST", "/push", b"x" * 10, headers)[0] == 413
    assert site.ask("POST", "/push", b"", {**headers, "Content-Length": "-5"})[0] == 413


def test_another_branch_and_a_deletion_are_ignored(site: Site) -> None:
    assert site.tell({**GOOD, "ref": "refs/heads/topic"})[0] == 200
    assert site.tell({**GOOD, "after": push.ZEROS})[0] == 200
    assert state(site.fake).queue is None


def test_probes_say_why_they_fail(site: Site) -> None:
    assert site.ask("GET", "/livez") == (200, {"ok": True, "why": ""})
    code, answer = site.ask("GET", "/readyz")
    assert (code, answer["why"]) == (503, "starting")
    site.server.picture.at = time.monotonic()
    assert site.ask("GET", "/readyz")[0] == 200
    site.server.picture.turned -= 1000
    assert site.ask("GET", "/livez")[0] == 503
    assert site.ask("GET", "/nothing")[0] == 404
    assert site.ask("POST", "/nothing")[0] == 404


def test_the_status_is_json_for_programs_and_a_page_for_people(site: Site) -> None:
    picture, now = site.server.picture, state(site.fake)
    picture.state, picture.seen, picture.action = now, Observation(Plan()), Wait(now, "<at rest>")
    code, answer = site.ask("GET", "/status")
    assert (code, answer["serving"]["number"], answer["doing"]) == (200, 1, "<at rest>")
    code, text = site.ask("GET", "/status", headers={"Accept": "text/html"})
    assert code == 200
    assert "&lt;at rest&gt;" in text
    assert "<script" not in text
    code, answer = site.ask("GET", "/status?output=json", headers={"Accept": "text/html"})
    assert answer["doing"] == "<at rest>"


def test_before_the_first_turn_there_is_a_status_too(site: Site) -> None:
    assert site.ask("GET", "/status")[1] == {"leading": False, "trouble": "starting"}
    assert "starting" in site.ask("GET", "/", headers={"Accept": "text/html"})[1]


def test_a_missing_journal_is_said_and_is_no_crash(site: Site) -> None:
    site.fake.objects.pop(core(NAMES.control, "configmaps", NAMES.journal))
    code, answer = site.tell(GOOD)
    assert code == 503
    assert "rollout init" in answer["error"]


def test_a_push_of_the_wrong_kind_of_value() -> None:
    with pytest.raises(BadPush):
        push.from_hook({"ref": ["x"], "after": SHA}, "main", 0.0)
