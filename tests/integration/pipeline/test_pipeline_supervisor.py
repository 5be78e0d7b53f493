"""The supervisor against faults: killed models, neighbours that are away, bad settings, a stop."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from apps.pipeline.supervisor import DYING_S
from tests.integration.pipeline.harness import (
    ROOT,
    free_port,
    get,
    run_pipeline,
    run_tickets,
    stream,
)

NOWHERE = "http://127.0.0.1:1"
NO_DATABASE = "postgresql://assistant:x@127.0.0.1:1/switchyard"


@pytest.mark.parametrize("model", ["answer", "retrieve"])
def test_a_killed_model_fails_livez_and_then_ends_the_supervisor(model: str) -> None:
    with run_pipeline(NO_DATABASE, NOWHERE) as pipeline:
        assert get(f"{pipeline.health}/livez") == (200, "ok\n")
        server = pipeline.server_pid()
        os.kill(pipeline.stubs()[model][0], signal.SIGKILL)
        killed = time.monotonic()
        while (said := get(f"{pipeline.health}/livez"))[0] == 200:
            assert time.monotonic() - killed < 10, "livez never noticed"
            time.sleep(0.1)
        assert said == (503, f"the process of model {model} died\n")
        assert get(f"{pipeline.health}/readyz")[0] == 503
        assert pipeline.process.wait(DYING_S + 20) == 1
    assert not Path(f"/proc/{server}").exists()
    assert not list(Path("/dev/shm").glob(f"switchyard_{pipeline.process.pid}_*"))


def test_a_killed_server_ends_the_supervisor() -> None:
    with run_pipeline(NO_DATABASE, NOWHERE) as pipeline:
        stubs = [pid for pids in pipeline.stubs().values() for pid in pids]
        os.kill(pipeline.server_pid(), signal.SIGKILL)
        assert pipeline.process.wait(20) == 1
        end = time.monotonic() + 10
        while left := [pid for pid in stubs if Path(f"/proc/{pid}").exists()]:
            assert time.monotonic() < end, left
            time.sleep(0.1)


def test_neighbours_that_are_away_degrade_replies_but_not_readiness(postgres: Any) -> None:
    with run_pipeline(NO_DATABASE, NOWHERE) as pipeline:
        for query, reason in (
            ("what is my balance", "the customer database does not answer"),
            ("化验单", "the customer database does not answer"),
            ("I want to complain", "tickets cannot be reached"),
        ):
            begun = time.monotonic()
            reply = pipeline.ask(query, postgres.assertion("c-1002"))
            assert (reply["status"], reply["reason"]) == ("degraded", reason)
            assert reply["text"]
            assert time.monotonic() - begun < 6
        assert pipeline.ask("hello")["status"] == "ok"
        assert get(f"{pipeline.health}/readyz")[0] == 200


def test_tickets_that_come_back_are_found_again(postgres: Any) -> None:
    port = str(free_port())
    url = f"http://127.0.0.1:{port}"
    with run_pipeline(postgres.url("assistant"), url) as pipeline:
        numbers = []
        for _ in range(2):
            with run_tickets(postgres, port):
                reply = pipeline.ask("我要投诉", postgres.assertion("c-1001"), "kept")
                assert reply["status"] == "ok", reply
                numbers.append(reply["ticket"]["id"])
            reply = pipeline.ask("我要投诉", postgres.assertion("c-1001"), "lost")
            assert reply["status"] == "degraded"
        assert numbers[0] == numbers[1]


def test_a_stop_is_quick_when_idle_and_lets_a_stream_end() -> None:
    with (
        run_pipeline(NO_DATABASE, NOWHERE) as pipeline,
        stream(pipeline.grpc, max_tokens=24) as one,
    ):
        while one.arrived.get(timeout=60) < 3:
            pass
        pipeline.process.send_signal(signal.SIGTERM)
        assert pipeline.process.wait(60) == 0
        assert one.finish == "length"
        assert len(one.tokens) == 24
    with run_pipeline(NO_DATABASE, NOWHERE) as pipeline:
        begun = time.monotonic()
        pipeline.process.send_signal(signal.SIGTERM)
        assert pipeline.process.wait(60) == 0
        assert time.monotonic() - begun < 15


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"DATABASE_URL": ""}, "set DATABASE_URL to a postgresql://… URL"),
        ({"TICKETS_URL": "tickets:8080"}, "set TICKETS_URL to a http://… URL"),
        ({"GRPC_PORT": "0"}, "GRPC_PORT is '0'; set it to a number from 1 to 65535"),
        ({"INTENT_WEIGHTS": "/etc/hostname"}, "/etc/hostname: not an intent model"),
        ({"INTENT_WEIGHTS": "/proc/x"}, "/proc/x: No such file or directory; set INTENT_WEIGHTS"),
        ({"HOST": "203.0.113.1"}, "HEALTH_PORT 8000: Cannot assign requested address"),
    ],
)
def test_a_bad_setting_is_one_line_and_status_2(wrong: dict[str, str], line: str) -> None:
    settings = {"DATABASE_URL": NO_DATABASE, "TICKETS_URL": NOWHERE, **wrong}
    done = subprocess.run(
        [sys.executable, "-m", "apps.pipeline"],
        cwd=ROOT,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"pipeline: {line}")
    assert done.stderr.count("\n") == 1
