"""The main job on the running cluster; it leaves both lanes up for the tests after it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_demo_keeps_every_promise():
    done = subprocess.run(
        [sys.executable, "-m", "tests.demo", "--report-times"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1500,
    )  # fmt: skip
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-3000:]
