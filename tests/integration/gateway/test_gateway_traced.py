"""Our own recorder on the real gateway and pipeline while eight clients ask at once."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from observability.native import MODULE
from observability.ring import read
from tests.integration.gateway.harness import ROOT, Gateway, run_gateway
from tests.integration.pipeline.harness import Pipeline, run_pipeline
from tests.integration.probes.bpftrace import wait_until_attached

CLIENTS, EACH = 8, 5
BALANCE = "What is my medical insurance balance?"
PROBES = "apps.gateway,apps.pipeline,apps.engine.engine"
ENDED = ("return", "unwind")


@pytest.fixture(scope="module")
def traced_lane(running_postgres: Any, tickets_url: str) -> Iterator[Pipeline]:
    """A pipeline whose models have probes."""
    url = running_postgres.url("assistant")
    with run_pipeline(url, tickets_url, PROBES=PROBES) as pipeline:
        yield pipeline


class Recorder:
    """`python -m observability record` on some processes, from `start` to `end`."""

    def __init__(self, out: Path, *pids: int) -> None:
        self.out = out
        self.command = [sys.executable, "-m", "observability", "record", "--no-waits", "--no-gpu"]
        for pid in pids:
            self.command += ["--pid", str(pid)]

    def start(self, *pids: int) -> None:
        """Return when its probes are in all of `pids`."""
        self.process = subprocess.Popen(
            [*self.command, "--out", str(self.out)], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        for pid in pids:
            for point in ("function_entry", "function_return", "token"):
                wait_until_attached(pid, MODULE, point)

    def end(self) -> tuple[str, list[dict[str, Any]]]:
        """The last line that it says, and its records."""
        self.process.terminate()
        said = self.process.communicate(timeout=120)[1].splitlines()
        assert self.process.returncode == 0, said
        return said[-1], [json.loads(line) for line in self.out.read_text().splitlines()]


def test_every_request_of_eight_clients_is_counted_exactly(
    running_postgres: Any, postgres: Any, traced_lane: Pipeline, tmp_path: Path
) -> None:
    token, ring = postgres.token("c-1002"), tmp_path / "requests.ring"
    more = {"PROBES": PROBES, "REQUESTS_RING": str(ring), "ANSWER_MAX_TOKENS": "6"}
    more |= {"ANSWER_STREAMS": str(CLIENTS)}
    with run_gateway(
        running_postgres.url("gateway"),
        running_postgres.assertion_key,
        traced_lane.grpc,
        tmp_path,
        **more,
    ) as gateway:
        ask = asking(gateway, token)
        ask("warm", 1)
        models = [pid for pids in traced_lane.stubs().values() for pid in pids]
        loaded = [pid for pid in models if MODULE.name in Path(f"/proc/{pid}/maps").read_text()]
        recorder = Recorder(tmp_path / "trace.jsonl", gateway.process.pid, traced_lane.process.pid)
        recorder.start(gateway.process.pid, *loaded)
        ask("unnamed", 1)  # each process notices the tracer when its next request begins
        with ThreadPoolExecutor(CLIENTS) as pool:
            replies = list(pool.map(ask, map(str, range(CLIENTS)), [EACH] * CLIENTS))
        said, records = recorder.end()
    names = [name for one in replies for name in one]
    assert len(set(names)) == CLIENTS * EACH
    sent = sum(record["layer"] in ("python", "token", "object") for record in records)
    assert said.endswith(f"0 lost, {sent} read of {sent} events"), said
    calls: Counter[tuple[str, str, str]] = Counter(
        (record["request"], record["function"], record["kind"])
        for record in records
        if record["layer"] == "python"
    )
    tokens: Counter[tuple[str, str]] = Counter(
        (record["request"], record["kind"]) for record in records if record["layer"] == "token"
    )
    lines = {line["request_id"]: line for line in map(json.loads, _lines(ring))}
    for name in names:
        for function, times in {
            "apps.gateway.chat.Chat.__call__": 1,
            "apps.gateway.conversation.Conversation.answer": 1,
            "apps.gateway.record.Journal.ended": 1,
            "apps.pipeline.router.Router.answer": 1,
            "apps.pipeline.streams.Streams._open": 1,
        }.items():
            assert calls[name, function, "entry"] == times, function
            assert sum(calls[name, function, how] for how in ENDED) == times, function
        made = lines[name]["tokens"]["generated"]
        assert tokens[name, "generated"] == tokens[name, "received"] == made
        assert tokens[name, "delivered"] == lines[name]["tokens"]["delivered"]
        # The engine's one thread takes each token for its own request, whatever the step shares.
        chosen = calls[name, "apps.engine.engine.Engine._take", "entry"]
        assert chosen >= made


def asking(gateway: Gateway, token: str) -> Callable[[str, int], list[str]]:
    def ask(client: str, times: int) -> list[str]:
        replies = [
            gateway.ask(token, BALANCE, session=f"s-{client}", message_id=f"m-{client}-{n}")
            for n in range(times)
        ]
        assert all(reply["status"] == "ok" for reply in replies)
        return [reply["request_id"] for reply in replies]

    return ask


def _lines(ring: Path) -> list[bytes]:
    return [line.text for line in read(ring).lines]
