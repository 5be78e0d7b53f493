"""Scenarios and the rehearsal as jobs, against an assistant of a few lines on a real socket."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rollout import business, rehearsal
from rollout.cluster import apps, core
from rollout.examination import NoScenarios
from rollout.jobs import Handle
from rollout.observation import Job, JobKind
from rollout.rehearsal import NotReady, Rehearsal
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import NAMES, api, deployment

TEXT = """\
name: greeting.en
language: en
customer: s-en
runs: 20
turns:
  - query: hello
    expect: {intent: other, reply_matches: ["ticket"]}
"""


class Assistant(ThreadingHTTPServer):
    daemon_threads = True
    text = "your ticket"
    stumbles = 0
    tokens: set[str] = set()  # noqa: RUF012


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Assistant

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.tokens.add(self.headers["Authorization"])
        text = self.server.text if self.server.stumbles <= 0 else "please wait"
        self.server.stumbles -= 1
        meta = {"intent": "other", "language": "en", "facts": [], "ticket": None}
        events = [
            ("meta", meta), ("delta", {"text": text}), ("done", {"status": "ok"}),
        ]  # fmt: skip
        body = "".join(f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in events)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def assistant() -> Iterator[Assistant]:
    made = Assistant(("127.0.0.1", 0), Handler)
    made.tokens = set()
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def test_an_entrance_that_opens_late_is_waited_for() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = probe.getsockname()

    made: list[Assistant] = []

    def open_late() -> None:
        time.sleep(0.3)
        made.append(Assistant(address, Handler))
        made[0].serve_forever(0.02)

    thread = threading.Thread(target=open_late, daemon=True)
    thread.start()
    job = business.judge(
        JobKind.SCENARIOS, 2, {"a.yaml": TEXT}, f"http://127.0.0.1:{address[1]}", str,
        Handle(lambda _: None),
    )  # fmt: skip
    made[0].shutdown()
    made[0].server_close()
    assert job.passed, job.why


def test_an_entrance_that_stays_shut_is_said_as_that() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{probe.getsockname()[1]}"
        job = business.judge(
            JobKind.SCENARIOS, 2, {"a.yaml": TEXT}, address, str, Handle(lambda _: None), open_s=0.2
        )
    assert (job.done, job.passed) == (True, False)
    assert job.why.startswith(f"{address} took no connection within 0 s: ")


def judge(
    assistant: Assistant, texts: dict[str, str], runs: int | None = None, tries: int = 1
) -> tuple[Job, list[str]]:
    said: list[str] = []
    address = f"http://127.0.0.1:{assistant.server_address[1]}"
    job = business.judge(
        JobKind.SCENARIOS, 2, texts, address, lambda who: f"token-of-{who}", Handle(said.append),
        runs=runs, tries=tries,
    )  # fmt: skip
    return job, said


def test_all_scenarios_pass_with_progress_and_the_synthetic_customers_token(
    assistant: Assistant,
) -> None:
    job, said = judge(assistant, {"a.yaml": TEXT, "b.yaml": TEXT.replace("greeting", "again")})
    assert job.passed
    assert job.why == "2 scenarios, 40 runs passed"
    assert "greeting.en: 20 of 20 runs, 0 failed" in said
    assert assistant.tokens == {"Bearer token-of-s-en"}


def test_one_wrong_answer_too_many_fails_with_its_reason(assistant: Assistant) -> None:
    assistant.text = "no idea"
    job, _ = judge(assistant, {"a.yaml": TEXT})
    assert not job.passed
    assert "greeting.en" in job.why
    assert "does not match" in job.why


def test_a_rehearsal_runs_fewer(assistant: Assistant) -> None:
    assert judge(assistant, {"a.yaml": TEXT}, runs=2)[0].why == "1 scenarios, 2 runs passed"


def test_no_scenario_is_no_pass(assistant: Assistant) -> None:
    with pytest.raises(NoScenarios, match="add one"):
        judge(assistant, {})
    with pytest.raises(NoScenarios, match=r"rollout/scenarios/a\.yaml: line"):
        judge(assistant, {"a.yaml": "name: 3"})


def staged() -> tuple[FakeApi, Rehearsal]:
    fake = FakeApi()
    spec = {"clusterIP": "10.0.0.9", "ports": [{"port": 80}]}
    fake.put(core(NAMES.staging, "services", "lane-staging"), spec=spec)
    one = deployment("staging", 1)
    one["metadata"]["namespace"] = NAMES.staging
    return fake, Rehearsal(api(fake), NAMES, [one], 2, 1)


def ready(fake: FakeApi) -> None:
    """Make staging's pods Ready as soon as they are scaled."""
    path = apps(NAMES.staging, "gateway-staging")

    def kubelet(verb: str, where: str) -> None:
        one = fake.objects.get(path)
        if one and one["spec"].get("replicas"):
            one["metadata"]["generation"] = 1
            one["status"] = {
                "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
            }  # fmt: skip

    fake.before = kubelet


def test_staging_is_started_played_and_taken_down_again() -> None:
    fake, stage = staged()
    ready(fake)
    played: list[str] = []
    stage.hold(Handle(lambda _: None), 5, played.append)
    assert played == ["http://10.0.0.9:80"]
    assert fake.objects[apps(NAMES.staging, "gateway-staging")]["spec"]["replicas"] == 0


def test_staging_is_taken_down_also_when_the_scenarios_fail() -> None:
    fake, stage = staged()
    ready(fake)

    def play(address: str) -> None:
        raise NoScenarios("bad")

    with pytest.raises(NoScenarios):
        stage.hold(Handle(lambda _: None), 5, play)
    assert fake.objects[apps(NAMES.staging, "gateway-staging")]["spec"]["replicas"] == 0


def test_staging_that_does_not_come_up_is_a_failure_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rehearsal, "POLL_S", 0.01)
    fake, stage = staged()
    fake.before = lambda verb, path: (
        [
            one["metadata"].setdefault("generation", 1)
            for one in fake.objects.values()
            if one.get("kind") == "Deployment"
        ]
        and None
    )
    with pytest.raises(NotReady, match="staging not Ready within 0 s"):
        stage.hold(Handle(lambda _: None), 0.1, lambda address: None)


@pytest.mark.parametrize(
    ("stumbles", "tries", "passed"), [(1, 1, False), (1, 2, True), (9, 2, False)]
)
def test_a_rehearsal_may_stumble_once_but_a_wrong_answer_is_wrong_again(
    assistant: Assistant, stumbles: int, tries: int, passed: bool
) -> None:
    assistant.stumbles = stumbles
    job, _ = judge(assistant, {"greeting.en.yaml": TEXT}, runs=1, tries=tries)
    assert job.passed is passed
