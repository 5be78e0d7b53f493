"""What a real gateway leaves behind: a ring line for each request, also when it is killed, and
probes that a tracer counts exactly."""

import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from apps.gateway.pressure import WHY
from observability.native import MODULE
from observability.ring import read
from tests.integration.gateway.harness import Gateway
from tests.integration.pipeline.harness import Pipeline, slowed
from tests.integration.probes.bpftrace import counting, wait_until_counted

BALANCE = "What is my medical insurance balance?"
REPORT = "我的血糖化验结果正常吗？"


@pytest.fixture
def ring(tmp_path: Path) -> Path:
    return tmp_path / "requests.ring"


def lines(ring: Path) -> list[dict[str, Any]]:
    contents = read(ring)
    assert not contents.problems
    return [json.loads(line.text) for line in contents.lines]


def test_a_killed_gateway_leaves_a_line_for_every_answer(
    start_gateway: Callable[..., Gateway], postgres: Any, ring: Path
) -> None:
    gateway = start_gateway(REQUESTS_RING=str(ring), RELEASE="17", ANSWER_MAX_TOKENS="12")
    token = postgres.token("c-1002")
    list(gateway.stream(token, BALANCE, session="s1", message_id="m-0"))
    replies = [gateway.ask(token, BALANCE, session="s1", message_id=f"m-{n}") for n in range(1, 5)]
    gateway.process.send_signal(signal.SIGKILL)
    gateway.process.wait()
    found = lines(ring)
    # The last reply may have arrived before its line was written.
    names = [reply["request_id"] for reply in replies]
    assert [line["request_id"] for line in found][1:] in (names, names[:-1])
    # The same question again finds its beginning computed.
    assert [line["cache_hit"] > 0.5 for line in found[1:4]] == [True] * 3, found
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    for line in found:
        assert (line["intent"], line["status"]) == ("insurance_balance", "ok")
        assert (line["lane"], line["release"], line["boot"]) == ("local", "17", boot)
        assert list(line["stages_ns"]) == ["identify", "read", "bind", "route", "prompt", "words"]
        assert sum(line["stages_ns"].values()) / 1e6 == pytest.approx(line["total_ms"], rel=0.1)
        assert line["prompt_tokens"] > 0
        tokens = line["tokens"]
        assert 1 <= tokens["generated"] <= 12
        assert tokens["generated"] == tokens["handed"] == tokens["delivered"]
        assert (tokens["discarded"], tokens["reason"], tokens["estimated"]) == (0, None, False)


def test_a_client_that_left_is_in_the_line_with_what_it_did_not_read(
    start_gateway: Callable[..., Gateway], lane: Pipeline, postgres: Any, ring: Path
) -> None:
    gateway = start_gateway(REQUESTS_RING=str(ring), ANSWER_MAX_TOKENS="400", DEADLINE_S="90")
    with slowed(lane):
        events = gateway.stream(postgres.token("c-1002"), BALANCE, session="s-leave")
        for _ in range(6):
            next(events)
        events.close()
        while not lines(ring):
            assert gateway.process.poll() is None
    (line,) = lines(ring)
    tokens = line["tokens"]
    assert line["status"] == "gone"
    assert tokens["generated"] >= tokens["handed"] >= tokens["delivered"] >= 1
    assert tokens["discarded"] == tokens["generated"] - tokens["delivered"]
    assert tokens["reason"] == ("client_left" if tokens["discarded"] else None)


@contextmanager
def agent(state: dict[str, Any]) -> Iterator[str]:
    """A node's agent that says of its GPUs what `state` holds; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state["asked"] += 1
            self.send_response(200)
            self.end_headers()
            said = {"t_unix": state["asked"], "gpus": [], "pressed": state["pressed"]}
            self.wfile.write(json.dumps(said).encode())

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/gpu"
    server.shutdown()
    server.server_close()


def test_while_the_gpus_memory_is_short_an_answer_is_the_facts_and_its_line_says_why(
    start_gateway: Callable[..., Gateway], postgres: Any, ring: Path
) -> None:
    state = {"pressed": True, "asked": 0}
    token = postgres.token("c-1002")
    with agent(state) as url:
        gateway = start_gateway(GPU_STATE_URL=url, REQUESTS_RING=str(ring), ANSWER_MAX_TOKENS="5")
        replies: list[dict[str, Any]] = []
        for pressed in (True, False):
            state |= {"pressed": pressed}
            status = "degraded" if pressed else "ok"
            # It asks once a second.
            while not replies or replies[-1]["status"] != status:
                replies.append(
                    gateway.ask(token, BALANCE, session="s1", message_id=f"m-{len(replies)}")
                )
    found = {line["request_id"]: line for line in lines(ring)}
    (short, *_), (whole, *_) = (
        [found[r["request_id"]] for r in replies if r["status"] == status]
        for status in ("degraded", "ok")
    )
    assert (short["reason"], short["tokens"]["generated"]) == (WHY, 0)
    assert (whole["reason"], whole["tokens"]["generated"] > 0) == (None, True)
    assert all(reply["facts"] for reply in replies)


def test_a_tracer_counts_the_gateways_functions_exactly(
    start_gateway: Callable[..., Gateway], postgres: Any
) -> None:
    gateway = start_gateway(PROBES="apps.gateway", ANSWER_MAX_TOKENS="5")
    token = postgres.token("c-1002")
    gateway.ask(token, REPORT, session="s0")
    with counting(str(MODULE)) as counts:
        wait_until_counted(gateway.process.pid, MODULE)
        names = set()
        for number in range(7):
            reply = gateway.ask(token, REPORT, session="s1", message_id=f"m-{number}")
            names.add(reply["request_id"])
    assert len(names) == 7
    for name in names:
        for function in ("chat.Chat.__call__", "conversation.Conversation.answer"):
            assert counts[name, f"apps.gateway.{function}", "entry"] == 1
            assert counts[name, f"apps.gateway.{function}", "return"] == 1
        # One check of the body's JSON a request, and one line in the journal.
        assert counts[name, "apps.gateway.question.read_question", "entry"] == 1
        assert counts[name, "apps.gateway.record.Journal.ended", "entry"] == 1
