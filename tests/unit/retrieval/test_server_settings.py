"""The server's settings are checked before anything is made."""

from pathlib import Path

import pytest

from apps.retrieval.server import ServerError, Settings, installation, prepare

GOOD = {"PGDATA": "/data/postgres", "PASSWORD_POSTGRES": "secret"}


def test_the_defaults_listen_to_this_machine_only() -> None:
    settings = Settings.from_environment(GOOD)
    assert (settings.data, settings.port) == (Path("/data/postgres"), 5432)
    assert settings.listen == "127.0.0.1"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"PGDATA": ""}, "PGDATA must be the absolute path"),
        ({"PGDATA": "relative"}, "PGDATA must be the absolute path"),
        ({"PASSWORD_POSTGRES": ""}, "PASSWORD_POSTGRES"),
        ({"PGPORT": "0"}, "PGPORT"),
        ({"PGPORT": "65536"}, "PGPORT"),
        ({"PGPORT": "５"}, "PGPORT"),
    ],
)
def test_a_wrong_setting_is_named(changes: dict[str, str], why: str) -> None:
    with pytest.raises(ServerError, match=why):
        Settings.from_environment({**GOOD, **changes})


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "letter.txt").write_text("mine")
    settings = Settings.from_environment({**GOOD, "PGDATA": str(tmp_path / "data")})
    with pytest.raises(ServerError, match="not a PostgreSQL data folder"):
        prepare(settings, installation())
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["letter.txt"]
