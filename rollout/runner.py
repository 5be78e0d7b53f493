"""Run a business scenario against one gateway and say whether it passed, and why not."""

import math
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

from rollout.chat import Answer, Question, ask
from rollout.expectation import mismatch
from rollout.http_edge import ChatFailed, Http, UrllibHttp
from rollout.percentile import p95
from rollout.scenario import Limits, Scenario

KEPT_FAILURES = 5
TURN_TIMEOUT_S = 30.0
Progress = Callable[[int, int, int], None]


@dataclass(frozen=True)
class Outcome:
    """The result of a scenario: `runs` done, `success` as a share, P95 in milliseconds."""

    scenario: str
    runs: int
    failures: tuple[str, ...]
    success: float
    p95_first_ms: float
    p95_total_ms: float
    passed: bool
    why: str


@dataclass(frozen=True)
class Run:
    """One conversation: its answers, and what was wrong, if anything."""

    answers: tuple[Answer, ...]
    failure: str | None


def run(
    scenario: Scenario,
    base_url: str,
    token: str,
    *,
    limits: Limits | None = None,
    concurrency: int = 1,
    clock: Callable[[], float] = time.monotonic,
    http: Http | None = None,
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    progress: Progress | None = None,
) -> Outcome:
    """Hold `scenario.runs` conversations, `concurrency` at once.

    `limits` replaces the scenario's own (an environment may widen them). Stops early
    once the share of good runs cannot be reached any more. `progress` gets
    (done, failed, wanted) after each run.
    """
    kept = limits or scenario.limits
    edge = http or UrllibHttp(concurrency)
    allowed = math.floor(scenario.runs * (1 - kept.success) + 1e-9)
    done: list[Run] = []
    failed = started = 0
    waiting: set[Future[Run]] = set()
    with ThreadPoolExecutor(concurrency, thread_name_prefix="scenario") as pool:
        while True:
            while started < scenario.runs and len(waiting) < concurrency and failed <= allowed:
                started += 1
                waiting.add(pool.submit(_converse, scenario, base_url, token, edge, clock, new_id))
            if not waiting:
                break
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                done.append(future.result())
                failed += done[-1].failure is not None
                if progress:
                    progress(len(done), failed, scenario.runs)
    return outcome(scenario, kept, done)


def outcome(scenario: Scenario, limits: Limits, runs: Sequence[Run]) -> Outcome:
    """The verdict on finished runs."""
    failures = [run.failure for run in runs if run.failure is not None]
    answers = [answer for run in runs for answer in run.answers]
    success = 1 - len(failures) / len(runs) if runs else 0.0
    first = p95(answer.first_ms for answer in answers)
    total = p95(answer.total_ms for answer in answers)
    faults = _faults(scenario, limits, len(runs), success, first, total)
    if failures and success < limits.success:
        faults.append(f"first failure: {failures[0]}")
    return Outcome(
        scenario=scenario.name,
        runs=len(runs),
        failures=tuple(failures[:KEPT_FAILURES]),
        success=success,
        p95_first_ms=first,
        p95_total_ms=total,
        passed=not faults,
        why="; ".join(faults)
        or f"{len(runs)} runs, {success:.0%} good, P95 first {first:.0f}, whole {total:.0f} ms",
    )


def _faults(
    scenario: Scenario, limits: Limits, runs: int, success: float, first: float, total: float
) -> list[str]:
    faults = []
    if success < limits.success:
        faults.append(f"{success:.0%} of {runs} runs good, {limits.success:.0%} needed")
    elif runs < scenario.runs:
        faults.append(f"{runs} of {scenario.runs} runs done")
    if first > limits.first_ms:
        faults.append(f"P95 to the first content {first:.0f} ms > {limits.first_ms:.0f} ms")
    if total > limits.total_ms:
        faults.append(f"P95 to the whole reply {total:.0f} ms > {limits.total_ms:.0f} ms")
    return faults


def _converse(
    scenario: Scenario,
    base_url: str,
    token: str,
    http: Http,
    clock: Callable[[], float],
    new_id: Callable[[], str],
) -> Run:
    session, message_id = f"scenario-{new_id()}", ""
    answers: list[Answer] = []
    ticket: str | None = None
    for number, turn in enumerate(scenario.turns, 1):
        message_id = message_id if turn.retry else new_id()
        question = Question(turn.query, session, message_id)
        try:
            answer = ask(http, base_url, token, question, timeout_s=TURN_TIMEOUT_S, clock=clock)
        except ChatFailed as error:
            return Run(tuple(answers), f"turn {number}: {error}")
        answers.append(answer)
        wrong = mismatch(turn.expect, answer, scenario.language, ticket)
        if wrong:
            return Run(tuple(answers), f"turn {number}: {wrong}")
        ticket = answer.ticket or ticket
    return Run(tuple(answers), None)
