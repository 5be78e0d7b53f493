"""The `rollout` command as a person runs it, and waiting for what it says."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# Each look is a process of its own, on the cores that the release needs.
POLL_S = 2.0
Status = dict[str, Any]


class Late(RuntimeError):
    """What was waited for did not come; says what the controller was doing."""


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


def conclude(commit: str, seconds: float, tell: Callable[[Status], None]) -> Ended:
    """Poll the status until `commit` is promoted or ended; `tell` sees each one. Raises Late."""
    end = time.time() + seconds
    latest: Status = {}
    while time.time() < end:
        latest = status()
        tell(latest)
        found = ended(commit, latest)
        if found is not None and latest["candidate"] is None:
            return found
        time.sleep(POLL_S)
    doing = latest.get("doing") or latest.get("said")
    raise Late(f"{commit[:12]} was not through after {seconds:.0f} s; now: {doing}")


@dataclass(frozen=True)
class Ended:
    """What became of a commit."""

    verdict: str
    why: str
    at: float
    status: Status


def ended(commit: str, now: Status) -> Ended | None:
    """How the release of `commit` ended, or None while it is on its way."""
    if now["serving"]["commit"] == commit:
        return Ended("promoted", now["said"], now["serving"]["since"], now)
    held = now["held"].get(commit)
    return Ended(held["verdict"], held["why"], held["at"], now) if held else None
