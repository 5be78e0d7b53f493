import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from apps.engine.__main__ import main
from tests.unit.engine.signed_model import Signed


def test_generate_prints_words_and_then_its_speed(
    tiny_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["generate", str(tiny_path), "--prompt", "Hi", "--max-tokens", "6"]) == 0
    out, err = capsys.readouterr()
    assert out.strip()
    assert "tokens/s" in err
    assert "loaded in" in err


def test_generate_as_json_is_one_object_and_seeded(
    tiny_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["generate", str(tiny_path), "--prompt", "Hi", "--max-tokens", "6", "--output", "json",
             "--temperature", "10"]  # fmt: skip
    reports = []
    for seed in ("1", "1", "2"):
        assert main([*asked, "--seed", seed]) == 0
        reports.append(json.loads(capsys.readouterr().out))
    assert reports[0]["tokens"] == reports[1]["tokens"] != reports[2]["tokens"]
    assert reports[0]["finish"] in ("stop", "length")


def test_generate_says_which_bytes_it_left_out(
    tiny_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["generate", str(tiny_path), "--prompt", "Hi", "--max-tokens", "60", "--temperature",
             "10", "--seed", "1"]  # fmt: skip
    assert main([*asked, "--output", "json"]) == 0
    bad = json.loads(capsys.readouterr().out)["bad_bytes"]
    assert bad
    assert main(asked) == 0
    assert f"left out {len(bad)} bytes" in capsys.readouterr().err


def test_generate_ends_before_a_stop_string_and_keeps_to_the_numbers(
    tiny_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["generate", str(tiny_path), "--prompt", "Hi", "--max-tokens", "40", "--output", "json",
             "--temperature", "10"]  # fmt: skip
    assert main([*asked, "--numbers-of", "8.5"]) == 0
    free = json.loads(capsys.readouterr().out)["text"]
    assert set(re.findall(r"[0-9]+(?:\.[0-9]+)?", free)) <= {"8.5"}
    assert main([*asked, "--numbers-of", "8.5", "--stop", free[4:7]]) == 0
    stopped = json.loads(capsys.readouterr().out)
    assert (stopped["text"], stopped["finish"]) == (free[: free.index(free[4:7])], "stop")


def test_bench_reports_medians_with_their_ranges(
    tiny_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["bench", str(tiny_path), "--rounds", "3", "--tokens", "4", "--prompt-tokens", "20"]
    assert main([*asked, "--output", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    low, high = report["ranges"]["decode_per_s"]
    assert 0 < low <= report["decode_per_s"] <= high
    assert report["anonymous_mb"] > 0
    assert main(asked) == 0
    out = capsys.readouterr().out
    assert "first_token_ms" in out
    assert "start-up: warm up" in out


def test_bench_reports_the_time_and_page_faults_of_each_step(
    signed: Signed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ENGINE_MODEL_KEY", str(signed.public))
    asked = ["bench", str(signed.model), "--rounds", "1", "--tokens", "2", "--output", "json"]
    assert main(asked) == 0
    report = json.loads(capsys.readouterr().out)
    steps = {one["name"]: one for one in report["start_up"]}
    assert list(steps) == ["open", "read ahead", "plan", "touch", "warm up"]
    assert all(one["minor_faults"] >= 0 <= one["major_faults"] for one in steps.values())
    assert steps["open"]["seconds"] > report["hash_s"] > 0
    total = sum(one["seconds"] for one in steps.values())
    assert report["load_s"] == pytest.approx(total - report["hash_s"])


@pytest.mark.parametrize(
    "command", [["bench"], ["inspect"], ["generate", "--prompt", "Hi"], ["verify"]]
)
def test_every_command_refuses_a_model_that_nobody_trusted_signed(
    signed: Signed,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: list[str],
) -> None:
    monkeypatch.setenv("ENGINE_MODEL_KEY", str(signed.public))
    Path(f"{signed.model}.sig").write_bytes(bytes(64))
    assert main([command[0], str(signed.model), *command[1:]]) == 1
    assert "not what" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["inspect"], ["generate", "--prompt", "Hi"]])
def test_a_result_that_cannot_be_written_is_one_line(tiny_path: Path, command: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "apps.engine", command[0], str(tiny_path), *command[1:]],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: [Errno 28]")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_terminal_of_another_encoding_is_no_error(
    tiny_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    data = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(data, "ascii"))
    path = tiny_path.parent / "模型.gguf"
    path.write_bytes(tiny_path.read_bytes())
    assert main(["inspect", str(path), "--output", output]) == 0
    said = data.getvalue().decode()
    assert "\\u6a21" in said
    if output == "json":
        assert json.loads(said)["file"] == str(path)


def test_bench_makes_room_for_all_its_sessions(
    tiny_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["bench", str(tiny_path), "--rounds", "1", "--tokens", "8", "--prompt-tokens", "400"]
    assert main([*asked, "--sessions", "7", "--output", "json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["sessions"] == 7
    assert report["pool_tokens"] >= 7 * 408


@pytest.mark.parametrize(
    "arguments",
    [
        ["inspect", "/nonexistent.gguf"],
        ["generate", "FILE", "--prompt", "x " * 600],
        ["generate", "FILE", "--prompt", "x", "--max-tokens", "0"],
        ["generate", "FILE", "--prompt", "x", "--temperature", "-1"],
        ["generate", "FILE", "--prompt", "x", "--top-p", "0"],
        ["generate", "FILE", "--prompt", "x", "--stop", ""],
        ["generate", "FILE", "--prompt", "x", "--deadline-s", "0"],
        ["generate", "FILE", "--prompt", "x", "--pool-tokens", "3"],
        ["bench", "FILE", "--tokens", "0"],
        ["bench", "FILE", "--sessions", "0"],
        ["bench", "FILE", "--prompt-tokens", "9999", "--rounds", "1"],
        ["bench", "FILE", "--threads", "0"],
        ["generate", "FILE", "--prompt", "x", "--temperature", "nan"],
        ["generate", "FILE", "--prompt", "x", "--deadline-s", "nan"],
        ["generate", "FILE", "--prompt", "x", "--seed", "-1"],
        ["generate", "FILE", "--prompt", "\ud800"],
    ],
)
def test_bad_input_is_one_line_and_a_status(
    tiny_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    assert main([str(tiny_path) if one == "FILE" else one for one in arguments]) == 1
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("error: ")
    assert ";" in last


def test_help_shows_worked_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "python -m apps.engine generate --prompt" in capsys.readouterr().out
