"""Jobs: one of a kind and release, and a fault of the surroundings rejects no commit."""

from __future__ import annotations

import threading
import time

import pytest

from rollout import jobs
from rollout.errors import ApiUnavailable, RolloutError
from rollout.jobs import Handle, Jobs
from rollout.observation import Job, JobKind

KIND = JobKind.EXAMINE


def finished(made: Jobs, seconds: float = 5) -> Job:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if made.seen() and made.seen()[0].done:
            return made.seen()[0]
        time.sleep(0.005)
    raise AssertionError(made.seen())


def test_a_result_wakes_the_loop() -> None:
    woken = threading.Event()
    made = Jobs(woken.set)
    made.start(KIND, 2, lambda handle: Job(KIND, 2, done=True, passed=True))
    assert finished(made).passed
    assert woken.wait(1)


def test_starting_a_known_job_again_does_nothing() -> None:
    made, calls = Jobs(lambda: None), []

    def work(handle: Handle) -> Job:
        calls.append(1)
        return Job(KIND, 2, done=True)

    made.start(KIND, 2, work)
    finished(made)
    made.start(KIND, 2, work)
    assert calls == [1]


@pytest.mark.parametrize(
    ("error", "line"), [(RolloutError("no scenario"), "no scenario"), (KeyError("x"), "KeyError")]
)
def test_an_error_is_a_verdict_with_its_reason(error: Exception, line: str) -> None:
    made = Jobs(lambda: None)

    def work(handle: Handle) -> Job:
        raise error

    made.start(KIND, 2, work)
    result = finished(made)
    assert not result.passed
    assert line in result.why


def test_an_api_server_that_is_away_only_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "AGAIN_S", 0.01)
    made = Jobs(lambda: None)

    def work(handle: Handle) -> Job:
        raise ApiUnavailable("refused")

    made.start(KIND, 2, work)
    deadline = time.monotonic() + 5
    while made.seen() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert made.seen() == ()


def test_a_job_of_a_release_that_is_over_is_stopped_and_forgotten() -> None:
    made, stopped, started = Jobs(lambda: None), threading.Event(), threading.Event()

    def work(handle: Handle) -> Job:
        try:
            while True:
                handle.say("still at it")
                started.set()
                time.sleep(0.005)
        except jobs.Cancelled:
            stopped.set()
            raise

    made.start(KIND, 2, work)
    assert started.wait(5)
    assert made.seen()[0].why == "still at it"
    made.keep_only(3)
    assert stopped.wait(5)
    assert made.seen() == ()


def test_what_a_job_says_is_one_line_that_the_journal_has_room_for() -> None:
    made = Jobs(lambda: None)
    text = "two\nlines \x1b[31m" + "余" * 100_000

    def work(handle: Handle) -> Job:
        handle.say(text)
        raise RolloutError(made.seen()[0].why + text)

    made.start(KIND, 2, work)
    why = finished(made).why
    assert why.startswith("two lines ?[31m余")
    assert why.endswith("余…")
    assert len(why.encode()) <= jobs.MAX_WHY
