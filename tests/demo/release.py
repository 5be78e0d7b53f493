"""The `rollout` command as a person runs it, and waiting for what it says."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
Status = dict[str, Any]


class Late(Exception):
    """What was waited for did not come; carries the last status."""


def rollout(*arguments: str, timeout: float = 60, check: bool = True) -> Any:
    """Run `rollout … --output json` and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "rollout", *arguments, "--output", "json"],
        cwd=ROOT, capture_output=True, text=True, timeout=timeout, check=False,
    )  # fmt: skip
    if check and done.returncode != 0:
        raise RuntimeError(f"rollout {' '.join(arguments)}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout) if done.stdout.strip() else {}


def status() -> Status:
    return dict(rollout("status"))


def wait(
    what: str, ready: Callable[[Status], bool], seconds: float, tell: Callable[[Status], None]
) -> Status:
    """Poll the status until `ready`; `tell` sees each one. Raises Late."""
    end = time.time() + seconds
    latest: Status = {}
    while time.time() < end:
        latest = status()
        tell(latest)
        if ready(latest):
            return latest
        time.sleep(0.5)
    raise Late(f"{what} did not happen within {seconds:.0f} s; last status: {json.dumps(latest)}")


def outcome_of(commit: str) -> Callable[[Status], bool]:
    """Whether the journal has closed the release of `commit`."""
    return lambda now: bool(now.get("last")) and now["last"].get("commit") == commit


def idle(now: Status) -> bool:
    return now["candidate"] is None and now["split"] == 0
