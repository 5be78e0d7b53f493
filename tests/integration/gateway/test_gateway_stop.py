"""An answer that runs is stopped: by a complaint anywhere, by the client's leaving."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest
import urllib3

from tests.integration.gateway.complaints import complain, shut_out
from tests.integration.gateway.harness import Gateway
from tests.integration.pipeline.harness import Pipeline, slowed, tokens_made

BALANCE = "What is my medical insurance balance?"


@pytest.fixture(autouse=True)
def slow_engine(lane: Pipeline) -> Iterator[None]:
    with slowed(lane):
        yield


@pytest.fixture(scope="module")
def talkative(start_gateway: Callable[..., Gateway]) -> Gateway:
    """A gateway whose answers run for seconds."""
    return start_gateway(ANSWER_MAX_TOKENS="400", DEADLINE_S="90")


def started(events: Any, deltas: int = 4) -> None:
    seen = 0
    while seen < deltas:
        seen += next(events).kind == "delta"


def idle(lane: Pipeline) -> bool:
    """Whether the engine makes no token for half a second."""
    before = tokens_made(lane)
    time.sleep(0.5)
    return tokens_made(lane) == before


def wait_idle(lane: Pipeline, seconds: float) -> None:
    end = time.monotonic() + seconds
    while not idle(lane):
        assert time.monotonic() < end, "the engine is still generating"


@pytest.mark.parametrize("where", ["the same gateway", "another gateway"])
def test_a_complaint_stops_the_sessions_answer_at_once(
    talkative: Gateway, second_gateway: Gateway, lane: Pipeline, postgres: Any, where: str
) -> None:
    token = postgres.token("c-1002")
    events = talkative.stream(token, BALANCE, session="s-stop", message_id="m-1")
    other = talkative.stream(token, BALANCE, session="s-other", message_id="m-2")
    started(events)
    started(other, 2)
    complained = talkative if where == "the same gateway" else second_gateway
    reply = complained.ask(token, "I want to complain!", session="s-stop", message_id="m-3")
    asked = time.monotonic()
    assert reply["ticket"]["created"]
    rest = list(events)
    done = json.loads(rest[-1].data)
    assert (done["status"], done["reason"]) == ("stopped", "a complaint was made in this session")
    assert time.monotonic() - asked < 1
    assert len(rest) < 10
    started(other, 1)
    other.close()
    wait_idle(lane, 5)


def test_a_client_that_leaves_stops_the_generation(
    talkative: Gateway, lane: Pipeline, postgres: Any
) -> None:
    events = talkative.stream(postgres.token("c-1002"), BALANCE, session="s-leave")
    started(events)
    assert not idle(lane)
    events.close()
    wait_idle(lane, 5)
    assert talkative.samples()[-1]["http"] == 499
    assert talkative.samples()[-1]["status"] == "gone"


def test_a_client_that_leaves_without_streaming_stops_it_too(
    talkative: Gateway, lane: Pipeline, postgres: Any
) -> None:
    token = postgres.token("c-1002")

    with pytest.raises(urllib3.exceptions.ReadTimeoutError):
        talkative.post(token, BALANCE, session="s-json", timeout=0.5)
    wait_idle(lane, 5)
    assert talkative.samples()[-1]["http"] == 499


def test_complaints_are_heard_again_after_the_database_closed_the_listening_connection(
    talkative: Gateway, second_gateway: Gateway, lane: Pipeline, postgres: Any
) -> None:
    with psycopg.connect(postgres.superuser_url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gateway'"
        )
    time.sleep(1.5)
    token = postgres.token("c-1002")
    events = talkative.stream(token, BALANCE, session="s-again", message_id="m-1")
    started(events)
    second_gateway.ask(token, "I want to complain!", session="s-again", message_id="m-2")
    assert json.loads(list(events)[-1].data)["status"] == "stopped"
    wait_idle(lane, 5)


def test_a_complaint_that_no_gateway_could_hear_stops_the_answer_after_the_reconnect(
    talkative: Gateway, lane: Pipeline, postgres: Any
) -> None:
    token = postgres.token("c-1002")
    events = talkative.stream(token, BALANCE, session="s-lost", message_id="m-1")
    started(events)
    with shut_out(postgres):
        complain(postgres, "s-lost", "m-2")
        started(events, 1)
    assert json.loads(list(events)[-1].data)["status"] == "stopped"
    # The stop was of what ran then: the session's next answer goes on.
    again = talkative.stream(token, BALANCE, session="s-lost", message_id="m-3")
    started(again, 8)
    again.close()
    wait_idle(lane, 5)


def test_more_answers_than_places_get_the_facts_at_once(
    start_gateway: Callable[..., Gateway], lane: Pipeline, postgres: Any
) -> None:
    gateway = start_gateway(ANSWER_STREAMS="1", ANSWER_MAX_TOKENS="400", DEADLINE_S="90")
    token = postgres.token("c-1002")
    events = gateway.stream(token, BALANCE, session="s-first")
    started(events)
    quick = gateway.ask(token, BALANCE, session="s-second")
    assert quick["status"] == "ok"
    assert quick["omitted"][0]["what"] == "model_words"
    assert "3940.00" in quick["reply"]
    assert quick["latency_ms"]["total"] < 2000
    events.close()
    wait_idle(lane, 5)


def test_more_requests_than_the_bound_are_told_to_come_again(
    start_gateway: Callable[..., Gateway], lane: Pipeline, postgres: Any
) -> None:
    gateway = start_gateway(MAX_IN_FLIGHT="1", ANSWER_MAX_TOKENS="400", DEADLINE_S="90")
    token = postgres.token("c-1002")
    events = gateway.stream(token, BALANCE, session="s-first")
    started(events)
    reply = gateway.post(token, "hello", session="s-second")
    assert reply.status == 503
    assert reply.headers["retry-after"] == "1"
    assert reply.json()["error"].startswith("busy")
    assert gateway.http.request("GET", f"{gateway.admin}/readyz", retries=False).status == 200
    events.close()
    wait_idle(lane, 5)
    assert gateway.post(token, "hello", session="s-second").status == 200


def test_load_alone_leaves_the_gateway_ready(gateway: Gateway, postgres: Any) -> None:
    token = postgres.token("c-1001")
    statuses: list[int] = []

    def ask(number: int) -> None:
        for turn in range(8):
            reply = gateway.post(token, "你好", session=f"s-load-{number}", message_id=f"m-{turn}")
            statuses.append(reply.status)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        ready = gateway.http.request("GET", f"{gateway.admin}/readyz", retries=False)
        assert ready.status == 200, ready.data
        time.sleep(0.1)
    assert statuses == [200] * 128
