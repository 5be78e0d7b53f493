"""Business scenarios as a job: all of them, against one address, with one line of result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from rollout import examination
from rollout.entrance import OPEN_S, await_open
from rollout.jobs import Handle
from rollout.observation import Job, JobKind
from rollout.runner import run
from rollout.scenario import Limits


def judge(
    kind: JobKind,
    number: int,
    texts: dict[str, str],
    address: str,
    tokens: Callable[[str], str],
    handle: Handle,
    *,
    runs: int | None = None,
    limits: Limits | None = None,
    tries: int = 1,
    open_s: float = OPEN_S,
) -> Job:
    """Run every scenario; `runs` shortens each (a rehearsal), `limits` replaces its own.

    `tokens` gives the bearer token of a synthetic customer. A scenario may be
    tried `tries` times: a rehearsal's pods have only just started, and one slow
    first connection is not the release's fault; a wrong answer is wrong again.
    Waits `open_s` seconds at most until `address` takes a connection at all.
    """
    scenarios = examination.scenarios(texts)
    shut = await_open(address, open_s)
    if shut:
        return Job(kind, number, done=True, why=shut)
    lines = []
    for scenario in scenarios:
        wanted = replace(scenario, runs=runs) if runs else scenario
        handle.say(f"{scenario.name}: 0 of {wanted.runs} runs")
        play = partial(
            run,
            wanted,
            address,
            tokens(scenario.customer),
            limits=limits,
            progress=_progress(handle, scenario.name),
        )
        outcome = play()
        for _ in range(tries - 1):
            outcome = outcome if outcome.passed else play()
        if not outcome.passed:
            return Job(kind, number, done=True, why=f"{scenario.name}: {outcome.why}")
        lines.append(f"{scenario.name}: {outcome.why}")
    total = sum(runs or one.runs for one in scenarios)
    why = f"{len(scenarios)} scenarios, {total} runs passed"
    return Job(kind, number, done=True, passed=True, why=why)


def _progress(handle: Handle, name: str) -> Callable[[int, int, int], None]:
    def say(done: int, failed: int, wanted: int) -> None:
        handle.say(f"{name}: {done} of {wanted} runs, {failed} failed")

    return say
