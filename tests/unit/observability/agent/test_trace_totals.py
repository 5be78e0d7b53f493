"""Sums of the node, and how they are asked for."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from threading import Lock
from typing import Any

import pytest

from apps.gateway import pressure
from observability.agent.clock import now_ns
from observability.agent.service import Service
from observability.agent.totals import Totals
from rollout import discardsource
from tests.unit.observability.trace_records import gpu, loss


def line(intent: str = "complaint", lane: str = "blue", **more: Any) -> dict[str, Any]:
    tokens = {"generated": 20, "handed": 20, "delivered": 5, "discarded": 15, "seconds": 0.5}
    return {"layer": "ring", "request_id": "r", "intent": intent, "lane": lane, "total_ms": 1500,
            "tokens": tokens} | more  # fmt: skip


def reading(gpu: int, t_ns: int = 0, **fields: Any) -> dict[str, Any]:
    return {"layer": "nvml", "t_ns": t_ns, "gpu": gpu, "fields": fields}


@pytest.fixture
def totals() -> Totals:
    totals = Totals()
    totals.add([line(), line(), line(lane="green", tokens={}), line(synthetic=True)])
    totals.add([loss(10, 9, 1), gpu(1, "alloc", "cudaMalloc", 64, 1)])
    totals.add([reading(0, power_w=300.0, compute_percent=None)])
    return totals


def test_a_row_has_seconds_and_the_share_thrown_away(totals: Totals) -> None:
    rows = {(row["lane"], row["synthetic"]): row for row in totals.scenarios()}
    blue = rows["blue", False]
    assert (blue["requests"], blue["seconds"], blue["generated"], blue["discarded"]) == (
        2, 3.0, 40, 30,
    )  # fmt: skip
    assert blue["discarded_share"] == 0.75
    assert blue["discarded_seconds"] == 1.0
    # Nothing was made, so nothing is known of its share.
    assert rows["green", False]["discarded_share"] is None
    assert (blue["answered"], rows["green", False]["answered"]) == (2, 0)
    assert rows["blue", True]["requests"] == 1


def test_joules_are_told_where_every_gpu_tells_its_power(totals: Totals) -> None:
    assert {row["discarded_joules"] for row in totals.scenarios()} == {None}
    totals.add([line(), reading(1, power_w=100.0), line()])
    rows = {(row["lane"], row["synthetic"]): row for row in totals.scenarios()}
    # One line while only GPU 0 was known, one with both.
    assert rows["blue", False]["discarded_joules"] == 0.5 * 300 + 0.5 * 400
    totals.add([reading(1), line(lane="staging")])
    staging = next(row for row in totals.scenarios() if row["lane"] == "staging")
    assert staging["discarded_joules"] is None


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -1, 1e300, "1", None, [1]])
def test_a_number_that_is_none_spoils_no_sum(totals: Totals, wrong: object) -> None:
    before = totals.scenarios()[0]
    totals.add([line(total_ms=wrong, tokens={"generated": wrong, "seconds": wrong})])
    after = totals.scenarios()[0]
    assert after == before | {"requests": before["requests"] + 1}


def test_a_row_says_which_release_its_lane_has_now(totals: Totals) -> None:
    totals.add([line(release="7"), line(release="8"), line(lane="green", release=None)])
    releases = {row["lane"]: row["release"] for row in totals.scenarios()}
    assert releases == {"blue": "8", "green": ""}


def test_metrics(totals: Totals) -> None:
    text = totals.metrics()
    blue = 'lane="blue",intent="complaint",synthetic="false"'
    assert f'switchyard_trace_tokens_total{{{blue},event="discarded"}} 30' in text
    assert "switchyard_trace_events_lost_total 1\n" in text
    assert 'switchyard_trace_gpu_power_w{gpu="0"} 300.0\n' in text
    assert "compute_percent" not in text
    assert 'switchyard_trace_gpu_held_bytes{function="f"} 64\n' in text


def test_a_pod_that_invents_scenarios_fills_no_memory() -> None:
    totals = Totals()
    totals.add([line(intent=f"x{i}" * 100) for i in range(1000)])
    rows = totals.scenarios()
    assert len(rows) <= 201
    assert sum(row["requests"] for row in rows) == 1000


def test_a_line_with_odd_values_counts_as_a_request() -> None:
    totals = Totals()
    totals.add(
        [
            line(tokens=None, total_ms="soon"),
            line(tokens={"generated": "many"}),
            line(tokens=[1], lane=["x"]),
        ]
    )
    assert sum(row["requests"] for row in totals.scenarios()) == 3


@pytest.fixture
def alive() -> list[bool]:
    return [True]


@pytest.fixture
def url(totals: Totals, alive: list[bool]) -> Iterator[str]:
    service = Service(0, totals, Lock(), lambda: alive[0])
    yield f"http://127.0.0.1:{service.port}"
    service.close()


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_what_the_agent_answers(url: str, totals: Totals, alive: list[bool]) -> None:
    assert get(f"{url}/livez") == (200, "alive\n")
    assert get(f"{url}/metrics") == (200, totals.metrics())
    scenarios = get(f"{url}/scenarios")[1]
    assert json.loads(scenarios) == {"scenarios": totals.scenarios()}
    # As a release's analysis reads it: without what synthetic clients did.
    assert discardsource.read(scenarios.encode())["blue", "complaint"].generated == 40
    assert get(f"{url}/x") == (404, "there are /livez, /metrics, /scenarios and /gpu\n")
    alive[0] = False
    assert get(f"{url}/livez") == (503, "the agent's loop stands still\n")


FULL = {"uuid": "GPU-1", "memory_used_bytes": 98.0, "memory_total_bytes": 100.0}


def test_without_a_gpu_nothing_is_pressed(url: str, totals: Totals) -> None:
    totals._gpus.clear()
    before = time.time()
    said = json.loads(get(f"{url}/gpu")[1])
    assert said["t_unix"] >= before
    assert (said["gpus"], said["pressed"]) == ([], False)


def test_a_gateway_reads_when_and_how_full(url: str, totals: Totals) -> None:
    read_ns = now_ns() - 5_000_000_000
    totals.add([reading(0, now_ns(), uuid="GPU-0"), reading(1, read_ns, **FULL)])
    said = json.loads(get(f"{url}/gpu")[1])
    assert said["pressed"] is True
    assert said["gpus"] == [
        {"uuid": "GPU-0", "memory_used_ratio": None, "controller_ratio": None, "pressed": None},
        {"uuid": "GPU-1", "memory_used_ratio": 0.98, "controller_ratio": None, "pressed": True},
    ]
    # As the gateway reads it.
    assert pressure.read(pressure.fetch(f"{url}/gpu"))[1] is True
    # The older of the readings: what stands still must be seen to.
    assert abs(said["t_unix"] - (time.time() - 5)) < 1
