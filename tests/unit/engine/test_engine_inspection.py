import hashlib
import json
from pathlib import Path

import pytest

from apps.engine.__main__ import main
from tests.unit.engine.signed_model import Signed

Captured = pytest.CaptureFixture[str]


def report(capsys: Captured, *arguments: str | Path) -> dict[str, object]:
    assert main([*map(str, arguments), "--output", "json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def test_inspect_shows_sizes_and_formats(tiny_path: Path, capsys: Captured) -> None:
    assert main(["inspect", str(tiny_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    for line in (
        "kv_heads     2",
        "head         16",
        "logits by    the embedding",
        "rope         8 pairs, base 1000, magnitude 1",
        "tokeniser    gpt2, smollm, 266 tokens",
        "Q4_1         10 tensors, 0.0 MB",
    ):
        assert line in lines


def test_inspect_as_json_has_every_tensor(tiny_path: Path, capsys: Captured) -> None:
    found = report(capsys, "inspect", tiny_path)
    assert found["config"]["kv_heads"] == 2  # type: ignore[index]
    assert found["tensors"]["blk.1.ffn_up.weight"]["shape"] == [96, 64]  # type: ignore[index]
    assert found["sha3_512"] is None


def test_verify_says_whose_the_file_is(signed: Signed, capsys: Captured) -> None:
    expected = hashlib.sha3_512(signed.model.read_bytes()).hexdigest()
    assert report(capsys, "verify", signed.model, "--key", signed.public)["sha3_512"] == expected
    assert main(["verify", str(signed.model), "--key", str(signed.public)]) == 0
    assert f"SHA3-512 {expected}" in capsys.readouterr().out


def test_the_environment_is_asked_whom_to_trust(
    signed: Signed, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGINE_MODEL_KEY", str(signed.public))
    verified = report(capsys, "verify", signed.model)
    assert report(capsys, "inspect", signed.model)["sha3_512"] == verified["sha3_512"]


@pytest.mark.parametrize("command", ["inspect", "verify"])
def test_a_changed_file_is_one_line_and_a_status(
    signed: Signed, capsys: Captured, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("ENGINE_MODEL_KEY", str(signed.public))
    data = bytearray(signed.model.read_bytes())
    data[-1] ^= 1
    signed.model.write_bytes(data)
    assert main([command, str(signed.model)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"error: {signed.model}: not what {signed.signature} was made for")
    assert err.count("\n") == 1


def test_verify_without_a_key_asks_for_one(tiny_path: Path, capsys: Captured) -> None:
    assert main(["verify", str(tiny_path)]) == 1
    assert "--key or ENGINE_MODEL_KEY" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["inspect", "verify"])
def test_help_has_worked_examples(capsys: Captured, command: str) -> None:
    with pytest.raises(SystemExit):
        main([command, "--help"])
    out = capsys.readouterr().out
    assert f"python -m apps.engine {command} " in out
    assert "openssl pkeyutl -sign" in out
