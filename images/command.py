"""Run a program; its failure is one line, and its output then lies in a log."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from images import cache
from images.errors import ImageError

_SHOWN = 300


def run(
    argv: Sequence[str | Path],
    *,
    timeout_s: float,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> str:
    """Standard output of the program; `env` is added to this process's own environment."""
    name = Path(argv[0]).name
    try:
        done = subprocess.run(
            [str(word) for word in argv],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
            cwd=cwd,
            timeout=timeout_s,
        )
    except FileNotFoundError as missing:
        raise ImageError(f"{name} is not installed: apt-get install {name}") from missing
    except subprocess.TimeoutExpired as late:
        raise ImageError(f"{name} did not end within {timeout_s:.0f} s: {argv[1:4]}") from late
    if done.returncode:
        log = cache.folder() / "log" / f"{name}.log"
        cache.write(log, f"{argv}\n{done.stdout}\n{done.stderr}\nstatus {done.returncode}\n")
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or [
            "no message"
        ]
        raise ImageError(f"{name} failed: {lines[-1][:_SHOWN]} (its whole output: {log})")
    return done.stdout
