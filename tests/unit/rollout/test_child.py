"""A program within bounds: what it prints comes back, and too much of anything ends it."""

from __future__ import annotations

import os
import sys

import pytest

from rollout import child


def run(code: str, timeout_s: float = 60.0, output: int = child.OUTPUT):
    return child.run(
        [sys.executable, "-c", code],
        environment=dict(os.environ),
        timeout_s=timeout_s,
        output=output,
    )


def test_output_errors_and_status_come_back_also_when_both_pipes_are_full() -> None:
    code = "import os, sys; os.write(2, b'e' * 1000); print('o' * 300_000); sys.exit(3)"
    done = run(code)
    assert (done.returncode, done.stderr) == (3, b"e" * 1000)
    assert done.stdout == b"o" * 300_000 + b"\n"


def test_its_input_is_empty() -> None:
    assert run("import sys; print(repr(sys.stdin.read()))").stdout == b"''\n"


@pytest.mark.parametrize(
    "code",
    ["import time; time.sleep(60)", "import os, time; os.close(1); os.close(2); time.sleep(60)"],
)
def test_a_program_that_takes_too_long_is_ended(code: str) -> None:
    with pytest.raises(child.TooLong):
        run(code, timeout_s=0.3)


def test_a_program_that_prints_without_end_is_ended() -> None:
    with pytest.raises(child.TooMuch):
        run("import os\nwhile True: os.write(1, b'x' * 65536)", output=1 << 20)


def test_errors_without_end_are_read_and_cut() -> None:
    done = run("import os\nfor _ in range(64): os.write(2, b'x' * 65536)")
    assert (done.returncode, done.stderr) == (0, b"x" * 65536)


def test_a_program_that_wants_too_much_memory_gets_none() -> None:
    done = run(f"x = bytearray({child.MEMORY}); print('never')")
    assert done.returncode != 0
    assert b"MemoryError" in done.stderr


def test_a_program_that_is_not_there_is_an_error_of_the_caller() -> None:
    with pytest.raises(FileNotFoundError):
        child.run(["/nowhere"], environment={}, timeout_s=1.0)
