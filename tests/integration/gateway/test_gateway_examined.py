"""The committed scenarios, run by the runner against a real gateway, pipeline and database."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rollout.analysis import AnalysisPlan, judge
from rollout.runner import run
from rollout.samples import fetch, window
from rollout.scenario import load
from tests.integration.gateway.harness import Gateway
from tests.integration.gateway.samples import load_samples

FILES = sorted((Path(__file__).parents[3] / "rollout" / "scenarios").glob("*.yaml"))


@pytest.fixture(scope="module")
def brief(start_gateway: Callable[..., Gateway]) -> Gateway:
    """A gateway whose answers hold few of the model's words, which are not what is examined."""
    return start_gateway(ANSWER_MAX_TOKENS="4")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_scenario_passes_and_leaves_no_customer_sample(
    brief: Gateway, postgres: Any, path: Path, tmp_path: Path
) -> None:
    scenario = load(path.read_text())
    if scenario.name.startswith(("lab_report", "document_question")):
        load_samples(postgres, tmp_path)
    # What the model's words add is the engine's time, not the rules': this machine may be busy.
    limits = dataclasses.replace(scenario.limits, first_ms=5000, total_ms=20000)
    token = postgres.token(scenario.customer)
    result = run(scenario, brief.url, token, limits=limits, concurrency=4)
    assert result.passed, result
    assert result.runs == scenario.runs
    assert result.success == 1
    _, _, samples = fetch(brief.admin, 0, limit=10_000)
    since = samples[-1].t - 1e6
    assert not window(samples[-scenario.runs :], since, since + 2e6)
    with psycopg.connect(postgres.superuser_url) as connection:
        (count,) = connection.execute("SELECT count(*) FROM tickets.tickets").fetchone() or (0,)
    assert count == (scenario.runs if scenario.name.startswith("complaint") else 0)


def test_the_wrong_customer_fails_the_scenario_early_and_says_why(
    gateway: Gateway, postgres: Any
) -> None:
    scenario = load(next(p for p in FILES if p.stem == "insurance_balance.zh").read_text())
    result = run(scenario, gateway.url, postgres.token("c-1001"), concurrency=1)
    assert not result.passed
    assert result.runs == 2
    assert "fact 'balance' is '12680.50', expected '8250.00'" in result.why


def test_real_samples_are_judged(gateway: Gateway, postgres: Any) -> None:
    for turn in range(30):
        gateway.ask(postgres.token("c-1001"), "你好", session="s-judged", message_id=f"m-{turn}")
    _, _, samples = fetch(gateway.admin, 0, limit=10_000)
    mine = [sample for sample in samples[-30:] if not sample.synthetic]
    verdict = judge(mine, mine, AnalysisPlan(first_ms=10_000, total_ms=10_000))
    assert verdict.kind == "pass", verdict.why
    assert verdict.figures["candidate"].clients == 1
