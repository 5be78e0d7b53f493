"""The parts of `make run` that need no server."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from apps.local.assistant import require_free
from apps.local.check import QUESTIONS, check, fault
from apps.local.errors import LocalError
from apps.local.service import Service
from apps.local.state import State


def test_secrets_are_made_once_and_kept_private(tmp_path: Path) -> None:
    first, new = State(tmp_path / "state").secrets()
    assert new
    again, new = State(tmp_path / "state").secrets()
    assert (again, new) == (first, False)
    assert (tmp_path / "state" / "secrets.json").stat().st_mode & 0o777 == 0o600
    assert len(set(first.tokens.values())) == len(first.tokens)


def test_a_role_that_the_kept_secrets_do_not_know_gets_a_password_once(tmp_path: Path) -> None:
    kept, _ = State(tmp_path).secrets()
    path = tmp_path / "secrets.json"
    fields = json.loads(path.read_text())
    del fields["passwords"]["loader"]
    path.write_text(json.dumps(fields))
    (tmp_path / "lock").unlink()
    completed, new = State(tmp_path).secrets()
    assert not new
    assert completed.passwords["loader"]
    assert {**completed.passwords, "loader": ""} == {**kept.passwords, "loader": ""}
    (tmp_path / "lock").unlink()
    assert State(tmp_path).secrets() == (completed, False)


def test_a_second_run_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    state = State(tmp_path)
    with pytest.raises(LocalError, match="another run uses"):
        State(tmp_path)
    assert state.folder == tmp_path


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"superuser": 1}', "\0"])
def test_damaged_secrets_are_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "secrets.json").write_text(content)
    with pytest.raises(LocalError, match="is damaged; remove"):
        State(tmp_path).secrets()


def test_a_state_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(LocalError, match="choose another with --state"):
        State(tmp_path / "file")


def test_a_port_in_use_is_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(LocalError, match=f"port {port}: Address already in use; choose"):
            require_free(port)


def test_a_part_that_ends_is_told_with_its_last_words(tmp_path: Path) -> None:
    service = Service("pipeline", {"TICKETS_URL": "no"}, "http://127.0.0.1:1", tmp_path / "log")
    with pytest.raises(LocalError, match=r"pipeline ended \(2\): pipeline: set DATABASE_URL"):
        service.wait()
    service.stop()


def answer(**more: Any) -> dict[str, Any]:
    return {"intent": "insurance_balance", "status": "ok", "reply": "12680.50 CNY", **more}


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        (answer(), ""),
        (answer(intent="other"), "intent is 'other', not 'insurance_balance'"),
        (answer(status="degraded"), "status is 'degraded', not 'ok'"),
        (answer(reply="nothing"), "the reply does not contain '12680.50'"),
        ({}, "intent is None, not 'insurance_balance'"),
    ],
)
def test_a_wrong_reply_is_told_apart(reply: dict[str, Any], wrong: str) -> None:
    assert fault(QUESTIONS[0], reply) == wrong


def test_a_check_without_a_server_is_wrong_not_a_trace() -> None:
    said: list[str] = []
    tokens = {question.customer: "t" for question in QUESTIONS}
    assert not check("http://127.0.0.1:1", tokens, said.append)
    assert sum("wrong:" in line for line in said) == len(QUESTIONS)
    assert json.dumps(said)
