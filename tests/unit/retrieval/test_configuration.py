"""What the server is told stays within its lines, and lets in five roles and nobody else."""

import pytest

from apps.retrieval.configuration import LOGIN_ROLES, pg_hba_conf, postgresql_conf


def test_later_settings_win_and_values_are_quoted() -> None:
    text = postgresql_conf({"port": "5433", "jit": "on", "listen_addresses": "it's"})
    assert "port = '5433'\n" in text
    assert "jit = 'on'\n" in text
    assert text.count("jit = ") == 1
    assert "listen_addresses = 'it''s'\n" in text


@pytest.mark.parametrize("value", ["a\nfsync = off", "a\0b"])
def test_a_value_cannot_become_a_second_setting(value: str) -> None:
    with pytest.raises(ValueError, match="one line"):
        postgresql_conf({"listen_addresses": value})


def test_parameters_never_reach_the_log() -> None:
    text = postgresql_conf({})
    assert "log_parameter_max_length = '0'\n" in text
    assert "log_parameter_max_length_on_error = '0'\n" in text


def test_every_door_asks_for_a_password() -> None:
    lines = pg_hba_conf().splitlines()
    assert all(line.endswith("scram-sha-256") for line in lines)
    assert [line.split()[:3] for line in lines] == [
        ["host", "all", "postgres"],
        ["host", "switchyard", ",".join(LOGIN_ROLES)],
    ]
