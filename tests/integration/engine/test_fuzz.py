"""A short run of every fuzz target; `make fuzz` runs them at length."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RUNS = 2000


@pytest.mark.parametrize("target", ["gguf", "tokenizer", "detokenizer", "stops"])
def test_nothing_is_found_in_a_short_run(target: str) -> None:
    command = [sys.executable, "-m", "tests.fuzz", "--runs", str(RUNS), target]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    made = re.search(rf"{target}: (\d+) runs in \d+ s: ok", done.stdout)
    assert made
    assert int(made[1]) >= RUNS
