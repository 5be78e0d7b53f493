"""Neighbours that die, freeze and come back: quick, honest answers, and never a hang."""

import contextlib
import json
import os
import secrets
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.retrieval.local import LocalServer
from apps.retrieval.migrate import migrate
from tests.integration.gateway.harness import Gateway, run_gateway
from tests.integration.pipeline.harness import Pipeline, free_port, run_pipeline

BALANCE = "What is my medical insurance balance?"


def status(gateway: Gateway, path: str) -> int:
    return int(gateway.http.request("GET", gateway.admin + path, retries=False).status)


def timed(gateway: Gateway, token: str, query: str, **more: Any) -> tuple[float, Any]:
    begin = time.monotonic()
    reply = gateway.post(token, query, **more)
    return time.monotonic() - begin, reply


def wait_until(check: Any, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end
        time.sleep(0.2)


def test_without_a_pipeline_it_does_not_start_and_still_answers_degraded(
    postgres: Any, tmp_path: Path
) -> None:
    nobody = f"127.0.0.1:{free_port()}"
    with run_gateway(
        postgres.url("gateway"), postgres.assertion_key, nobody, tmp_path, wait=False
    ) as gateway:
        assert status(gateway, "/livez") == 200
        assert status(gateway, "/startupz") == status(gateway, "/readyz") == 503
        seconds, reply = timed(gateway, postgres.token("c-1001"), "我的余额", session="s-1")
        assert seconds < 2
        answer = reply.json()
        assert reply.status == 200
        assert (answer["status"], answer["language"]) == ("degraded", "zh")
        assert "很抱歉" in answer["reply"]


def test_a_pipeline_that_dies_and_one_that_freezes_degrade_the_answer(
    postgres: Any, tickets_url: str, tmp_path: Path
) -> None:
    token = postgres.token("c-1002")
    with (
        run_pipeline(postgres.url("assistant"), tickets_url) as pipeline,
        run_gateway(
            postgres.url("gateway"),
            postgres.assertion_key,
            pipeline.grpc,
            tmp_path,
            ANSWER_MAX_TOKENS="400",
            DEADLINE_S="6",
        ) as gateway,
    ):
        freeze(pipeline, signal.SIGSTOP)
        seconds, reply = timed(gateway, token, BALANCE, session="s-frozen")
        freeze(pipeline, signal.SIGCONT)
        assert reply.json()["status"] == "degraded"
        assert seconds < 7
        wait_until(lambda: gateway.ask(token, "hello", session="s-frozen")["status"] == "ok", 10)

        events = gateway.stream(token, BALANCE, session="s-dying")
        kinds = [next(events).kind for _ in range(4)]
        assert kinds == ["meta", "delta", "delta", "delta"]
        os.kill(pipeline.server_pid(), signal.SIGKILL)
        done = json.loads(list(events)[-1].data)
        assert done["status"] == "degraded"
        assert done["omitted"][0]["what"] == "model_words"
        seconds, reply = timed(gateway, token, BALANCE, session="s-after")
        assert seconds < 2
        assert reply.json()["status"] == "degraded"
        assert status(gateway, "/readyz") == 200
        pipeline.process.wait(40)


def freeze(pipeline: Pipeline, sign: signal.Signals) -> None:
    os.kill(pipeline.server_pid(), sign)


class Database:
    """A database of our own that can be frozen and stopped, with the shared key and tokens."""

    def __init__(self, server: LocalServer, url: str) -> None:
        self.server = server
        self.url = url

    def signal(self, sign: signal.Signals) -> None:
        pid = self.server.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for process in (pid, *map(int, children)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, sign)


@pytest.fixture
def database(postgres: Any) -> Iterator[Database]:
    with tempfile.TemporaryDirectory(prefix="switchyard-test-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        password = secrets.token_hex(16)
        with LocalServer(folder / "postgres", password) as server:
            passwords = {role: secrets.token_hex(16) for role in postgres.passwords}
            url = server.url("postgres", password)
            migrate(url, passwords, postgres.assertion_key, postgres.tokens)
            yield Database(server, server.url("gateway", passwords["gateway"]))


@pytest.mark.parametrize("way", ["stopped", "frozen"])
def test_a_database_that_is_gone_degrades_known_customers_and_refuses_unknown_ones(
    database: Database, postgres: Any, lane: Pipeline, tmp_path: Path, way: str
) -> None:
    known, unknown = postgres.token("c-1001"), postgres.token("c-1002")
    with run_gateway(database.url, postgres.assertion_key, lane.grpc, tmp_path) as gateway:
        gateway.ask(known, "你好", session="s-1")
        if way == "stopped":
            database.server.stop()
        else:
            database.signal(signal.SIGSTOP)
        try:
            seconds, reply = timed(gateway, known, "我的余额", session="s-new")
            assert reply.json()["status"] == "degraded"
            assert seconds < 3
            assert gateway.ask(known, "你好", session="s-1")["status"] == "ok"
            seconds, reply = timed(gateway, unknown, BALANCE, session="s-2")
            assert (reply.status, reply.headers["retry-after"]) == (503, "2")
            assert "cannot be checked" in reply.json()["error"]
            assert seconds < 3
            assert status(gateway, "/readyz") == 200
        finally:
            if way == "stopped":
                database.server.__enter__()
            else:
                database.signal(signal.SIGCONT)
        wait_until(lambda: gateway.post(unknown, "hello", session="s-2").status == 200, 15)
        assert gateway.ask(known, "你好", session="s-new")["status"] == "ok"


def test_sigterm_finishes_what_is_in_flight_and_takes_nothing_new(
    postgres: Any, lane: Pipeline, tmp_path: Path
) -> None:
    token = postgres.token("c-1002")
    with run_gateway(
        postgres.url("gateway"),
        postgres.assertion_key,
        lane.grpc,
        tmp_path,
        LAME_DUCK_S="1",
        ANSWER_MAX_TOKENS="24",
    ) as gateway:
        events = gateway.stream(token, BALANCE, session="s-last")
        assert next(events).kind == "meta"
        gateway.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        assert status(gateway, "/readyz") == 503
        reply = gateway.post(token, "hello", session="s-late")
        assert (reply.status, reply.headers["connection"]) == (200, "close")
        assert json.loads(list(events)[-1].data)["status"] == "ok"
        assert gateway.process.wait(20) == 0
