"""`python -m apps.local` on this machine: real parts, started, asked, stopped."""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
READY_S = 120


@pytest.fixture(scope="module")
def state() -> Iterator[Path]:
    """A folder that PostgreSQL's account may pass through."""
    with tempfile.TemporaryDirectory(prefix="switchyard-local-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def command(state: Path, *more: str) -> list[str]:
    return [sys.executable, "-m", "apps.local", "--state", str(state), *more]


@contextmanager
def run(state: Path) -> "Iterator[tuple[subprocess.Popen[str], list[str], int]]":
    """A run that has said it is ready, what it said, and its port; ended with the block."""
    port = free_port()
    process = subprocess.Popen(
        command(state, "--port", str(port)), cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process, list(lines(process)), port
    finally:
        process.terminate()
        process.communicate(timeout=60)


def lines(process: "subprocess.Popen[str]") -> Iterator[str]:
    assert process.stdout is not None
    for line in process.stdout:
        yield line.rstrip("\n")
        if line.startswith("Ctrl-C"):
            return
    raise AssertionError(f"ended with {process.wait()} before it was ready")


def descendants(pid: int) -> set[int]:
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(folder.name)] = int(fields[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found - {pid}


def alive(pids: set[int]) -> set[int]:
    """Those of `pids` that still run, given a moment to end."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        left = set()
        for pid in pids:
            stat = Path(f"/proc/{pid}/stat")
            try:
                if stat.read_text().rpartition(")")[2].split()[0] != "Z":
                    left.add(pid)
            except OSError:
                continue
        if not left:
            return left
        time.sleep(0.2)
    return left


def test_the_check_asks_in_both_languages_and_exits_0(state: Path) -> None:
    begun = time.monotonic()
    done = subprocess.run(
        command(state, "--check", "--port", str(free_port())),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=READY_S + 90,
        check=False,
    )
    print(done.stdout, done.stderr, f"{time.monotonic() - begun:.1f} s")
    assert done.returncode == 0
    assert done.stdout.count("  right, in ") == 3
    assert "12680.50 CNY" in done.stdout


def test_it_runs_until_ctrl_c_and_leaves_no_process(state: Path) -> None:
    with run(state) as (process, said, port):
        children = descendants(process.pid)
        assert len(children) > 10
        assert f"Chat page: http://127.0.0.1:{port}/" in said
        assert any("reports: 35 files (35 " in line for line in said)
        examples = [line.strip() for line in said if line.startswith("  curl -s ")]
        for example, intent in zip(
            examples, ("insurance_balance", "lab_report", "complaint"), strict=True
        ):
            done = subprocess.run(example, shell=True, capture_output=True, timeout=60, check=True)
            assert json.loads(done.stdout)["intent"] == intent
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
    assert not alive(children)


def test_the_next_run_keeps_the_tokens_and_refuses_another_beside_it(state: Path) -> None:
    tokens = []
    for _ in range(2):
        with run(state) as (process, said, _):
            tokens.append([line for line in said if line.startswith("  c-")])
            beside = subprocess.run(
                command(state, "--check"), cwd=ROOT, capture_output=True, text=True, check=False
            )
            assert (beside.returncode, beside.stdout) == (1, "")
            assert beside.stderr.startswith("local: another run uses ")
            assert beside.stderr.count("\n") == 1
            children = descendants(process.pid)
            process.kill()
            process.wait()
            assert not alive(children), "killed, it left processes behind"
    assert tokens[0] == tokens[1]
    assert len(tokens[0]) == 5


def test_a_port_in_use_is_one_line(state: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            command(state, "--port", str(port)),
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"local: port {port}: Address already in use; choose another")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("part", ["apps.tickets", "postgres"])
def test_a_part_that_dies_ends_the_run(state: Path, part: str) -> None:
    with run(state) as (process, _, _):
        children = descendants(process.pid)
        direct = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        for pid in direct:
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
            if part in (*words[2:3], Path(words[0]).name):
                os.kill(int(pid), signal.SIGKILL)
        assert process.wait(60) == 1
    assert not alive(children)
