"""Settings: every wrong variable is named in one line, and no secret is shown."""

import pytest

from apps.gateway.settings import BadSettings, read

GOOD = {
    "LANE": "blue",
    "DATABASE_URL": "postgresql://gateway:hidden@db/switchyard",
    "ASSERTION_KEY": "ab" * 32,
}


def test_defaults_follow_the_lane() -> None:
    settings = read(GOOD)
    assert settings.pipeline_address == "pipeline-blue:8001"
    assert (settings.port, settings.admin_port, settings.answer_max_tokens) == (8080, 8081, 48)
    assert settings.host == "127.0.0.1"


def test_the_gpus_state_is_asked_for_only_where_somebody_tells_it() -> None:
    assert read(GOOD).gpu_state_url is None
    for url in ("http://10.0.0.1:9102/gpu", "http://[fd00::1]:9102/gpu", "http://agent/gpu"):
        assert read(GOOD | {"GPU_STATE_URL": url}).gpu_state_url == url


def test_a_setting_never_shows_its_secrets() -> None:
    shown = repr(read(GOOD)) + str(read(GOOD))
    assert "hidden" not in shown
    assert "abab" not in shown


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LANE", "red"),
        ("ASSERTION_KEY", ""),
        ("ASSERTION_KEY", "xyz"),
        ("DATABASE_URL", ""),
        ("PIPELINE_ADDRESS", "http://x:1"),
        ("PORT", "70000"),
        ("PORT", "eighty"),
        ("ANSWER_MAX_TOKENS", "0"),
        ("DEADLINE_S", "nan"),
        ("MAX_IN_FLIGHT", "-1"),
        ("GPU_STATE_URL", "agent:9102"),
        ("GPU_STATE_URL", "https://agent:9102/gpu"),
        ("GPU_STATE_URL", "http://agent:99999/gpu"),
        ("GPU_STATE_URL", "http://agent:0/gpu"),
        ("GPU_STATE_URL", "http://user@agent/gpu"),
        ("GPU_STATE_URL", "http://agent/gpu\nX: y"),
    ],
)
def test_a_wrong_variable_is_named(name: str, value: str) -> None:
    with pytest.raises(BadSettings) as error:
        read(GOOD | {name: value})
    assert name in str(error.value)
    assert "\n" not in str(error.value)
