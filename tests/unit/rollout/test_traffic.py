"""Samples gathered from gateways' rings, and what they say about a candidate."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from rollout import forecast, samplesource, transitions
from rollout.analysis import AnalysisPlan
from rollout.candidate import Phase
from rollout.cluster import core
from rollout.plan import Plan
from rollout.samples import Sample, SamplesUnreadable
from rollout.samplesource import SampleSource
from rollout.settings import Settings
from rollout.traffic import RATE_S, traffic
from tests.unit.rollout.fake_api import FakeApi
from tests.unit.rollout.fake_cluster import NAMES, api, installed, state
from tests.unit.rollout.rollout_world import push

NOW = time.time()


def sample(seq: int, at: float = NOW, synthetic: bool = False, ms: float = 10.0) -> Sample:
    return Sample(seq, at, "c", synthetic, "other", "ok", 200, ms, ms)


class Rings:
    """Gateways' rings by address: boot and samples; None for one that does not answer."""

    def __init__(self) -> None:
        self.pods: dict[str, tuple[str, list[Sample]] | None] = {}

    def fetch(self, base: str, after: int, *, limit: int = 2000) -> tuple[str, int, list[Sample]]:
        ring = self.pods[base]
        if ring is None:
            raise SamplesUnreadable(f"{base}: refused")
        boot, samples = ring
        page = [one for one in samples if one.seq > after][: samplesource.PAGE]
        return boot, page[-1].seq if page else after, page


@pytest.fixture
def rings(monkeypatch: pytest.MonkeyPatch) -> Rings:
    made = Rings()
    monkeypatch.setattr(samplesource, "fetch", made.fetch)
    return made


def pod(fake: FakeApi, name: str, lane: str, ip: str) -> None:
    fake.put(
        core(NAMES.lanes, "pods", name),
        metadata={"labels": {"app": "gateway", "lane": lane}},
        status={"phase": "Running", "podIP": ip},
    )


def source(rings: Rings) -> tuple[FakeApi, SampleSource]:
    fake = FakeApi()
    pod(fake, "one", "blue", "10.0.0.1")
    pod(fake, "two", "green", "fd00::2")
    rings.pods = {"http://10.0.0.1:8081": ("a", []), "http://[fd00::2]:8081": ("b", [])}
    return fake, SampleSource(api(fake), NAMES)


def test_each_sample_is_taken_once_and_synthetic_ones_never_count(rings: Rings) -> None:
    _, found = source(rings)
    rings.pods["http://10.0.0.1:8081"] = ("a", [sample(1), sample(2, synthetic=True)])
    found.poll()
    found.poll()
    assert [one.seq for one in found.since("blue", 0)] == [1]
    assert found.since("green", 0) == []


def test_a_gateway_that_started_anew_is_read_from_its_start(rings: Rings) -> None:
    _, found = source(rings)
    rings.pods["http://10.0.0.1:8081"] = ("a", [sample(1), sample(2)])
    found.poll()
    rings.pods["http://10.0.0.1:8081"] = ("after a restart", [sample(1, NOW + 1)])
    found.poll()
    assert len(found.since("blue", 0)) == 3


def test_a_gateway_that_does_not_answer_hides_no_other(rings: Rings) -> None:
    _, found = source(rings)
    rings.pods["http://10.0.0.1:8081"] = None
    rings.pods["http://[fd00::2]:8081"] = ("b", [sample(1)])
    found.poll()
    assert len(found.since("green", 0)) == 1


def test_a_long_ring_is_read_page_by_page(rings: Rings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samplesource, "PAGE", 10)
    _, found = source(rings)
    rings.pods["http://10.0.0.1:8081"] = ("a", [sample(n) for n in range(1, 36)])
    found.poll()
    assert len(found.since("blue", 0)) == 35


def test_old_samples_are_forgotten(rings: Rings) -> None:
    _, found = source(rings)
    rings.pods["http://10.0.0.1:8081"] = ("a", [sample(1, NOW - 2000), sample(2)])
    found.poll()
    assert [one.seq for one in found.since("blue", 0)] == [2]


def test_only_what_ended_in_this_step_counts_for_the_verdict(rings: Rings) -> None:
    _, found = source(rings)
    early = [sample(n, NOW - 20) for n in range(40)]
    late = [sample(40 + n, NOW - 1) for n in range(12)]
    rings.pods["http://[fd00::2]:8081"] = ("b", early[1:] + late)
    rings.pods["http://10.0.0.1:8081"] = ("a", [sample(n, NOW - 1) for n in range(1, 50)])
    found.poll()
    now = transitions.started(state(installed()), push(), NOW)
    assert now.candidate is not None
    plan = Settings(analysis=AnalysisPlan(min_samples=10))
    quiet = traffic(now, found, None, plan, NOW)
    assert (quiet.kind, quiet.candidate) == ("inconclusive", 0)
    assert quiet.rate == pytest.approx(100 / RATE_S)
    candidate = replace(now.candidate, phase=Phase.STEPS, split=20, step_since=NOW - 5)
    seen = traffic(replace(now, candidate=candidate), found, None, plan, NOW)
    assert (seen.kind, seen.candidate, seen.stable) == ("pass", 12, 49)
    assert seen.figures["candidate"]["samples"] == 12


def test_a_forecast_says_when_each_step_is_filled_and_whether_it_ends_in_a_hold() -> None:
    plan = Plan(steps=(1, 20, 50), min_samples=30, step_max_s=60, soak_s=10)
    busy = forecast.steps(plan, 100.0)
    assert [row["merged"] for row in busy["steps"]] == [False, False, False]
    assert busy["steps"][0]["seconds"] == pytest.approx(30)
    assert not busy["holds"]
    calm = forecast.steps(plan, 1.5)
    assert [row["merged"] for row in calm["steps"]] == [True, True, False]
    assert calm["steps"][0]["fills_s"] == pytest.approx(2000)
    silent = forecast.steps(plan, 0.0)
    assert silent["holds"]
    assert silent["steps"][2]["fills_s"] is None


def test_a_forecast_says_what_a_push_would_wait_for() -> None:
    calm = state(installed())
    assert forecast.first(calm, NOW) == "starts at once"
    running = transitions.started(calm, push(), NOW)
    assert "takes the place of release 2" in forecast.first(running, NOW)
    assert running.candidate is not None
    examined = replace(running, candidate=replace(running.candidate, phase=Phase.STEPS))
    assert "waits for release 2" in forecast.first(examined, NOW)
    served = transitions.promoted(examined, running.candidate, NOW)
    assert "undo window" in forecast.first(served, NOW)
