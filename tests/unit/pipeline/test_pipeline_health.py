"""Started, ready, alive: judged by successes only, without a clock or a server."""

import urllib.error
import urllib.request

import pytest

from apps.pipeline.health import FAILURES, QUIET_S, READY_S, Health
from apps.pipeline.health_http import serve
from apps.pipeline.metrics import counts


def started(now: float = 100.0) -> Health:
    health = Health(("a", "b"))
    for model in ("a", "b"):
        health.success(model, now)
    return health


def test_it_has_started_when_every_model_has_answered_once() -> None:
    health = Health(("a", "b"))
    assert health.not_started() == "no answer yet from a, b"
    health.success("a", 1.0)
    assert health.not_started() == "no answer yet from b"
    assert health.not_ready(1.0)
    health.success("b", 2.0)
    assert health.not_started() == ""
    assert health.not_ready(2.0) == ""


def test_only_quiet_models_are_probed() -> None:
    health = started(100.0)
    assert health.quiet(100.0 + QUIET_S - 0.1) == []
    health.success("b", 105.0)
    assert health.quiet(100.0 + QUIET_S) == ["a"]


def test_without_a_recent_success_it_is_not_ready_but_alive() -> None:
    health = started(100.0)
    health.success("b", 100.0 + READY_S)
    assert "no recent answer from a" in health.not_ready(101.0 + READY_S)
    assert health.dead() == ""


def test_failed_probes_kill_only_without_a_success_between() -> None:
    health = started()
    for _ in range(FAILURES - 1):
        health.failure("a", "timeout")
    assert health.dead() == ""
    health.success("a", 101.0)
    for _ in range(FAILURES):
        assert health.dead() == ""
        health.failure("a", "timeout")
    assert health.dead() == "a failed 3 times: timeout"
    assert health.not_ready(101.0)


def test_a_slow_start_is_not_death() -> None:
    health = Health(("a",))
    for _ in range(FAILURES * 5):
        health.failure("a", "not loaded")
    assert health.dead() == ""


def test_a_lost_process_is_death_at_once() -> None:
    health = started()
    health.lost = "b"
    assert health.dead() == "the process of model b died"


def test_stopping_is_not_ready_and_not_dead() -> None:
    health = started()
    health.stopping = True
    assert health.not_ready(100.0) == "stopping"
    assert health.dead() == ""


def test_the_page_says_why() -> None:
    health = Health(("a",))
    server = serve(health, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        with pytest.raises(urllib.error.HTTPError, match="503") as refused:
            urllib.request.urlopen(f"{url}/startupz", timeout=5)
        assert refused.value.read() == b"no answer yet from a\n"
        with urllib.request.urlopen(f"{url}/livez", timeout=5) as response:
            assert response.read() == b"ok\n"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{url}/etc/passwd", timeout=5)
    finally:
        server.shutdown()
        server.server_close()


def test_progress_is_read_from_the_metrics_page() -> None:
    page = (
        "# HELP nv_inference_request_success Number of successful inference requests\n"
        'nv_inference_request_success{model="assistant",version="1"} 12\n'
        'nv_inference_request_success{model="answer",version="1"} 3\n'
        'nv_inference_request_failure{model="assistant",reason="OTHER",version="1"} 9\n'
        "# TYPE switchyard_tokens counter\n"
        "switchyard_tokens 84\n"
    )
    assert counts(page) == {"assistant": 12.0, "answer": 84.0}
    assert counts("") == {}
