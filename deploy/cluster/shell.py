"""Runs a command of the machine and turns its failure into one line."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from deploy.cluster.errors import ClusterError


def run(
    argv: Sequence[str | Path],
    *,
    timeout: float = 30,
    stdin: str | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> str:
    """Standard output of `argv`. Raises ClusterError with its last error line.

    `timeout` is in seconds.
    """
    words = [str(word) for word in argv]
    shown = " ".join(words[:6]) + (" …" if len(words) > 6 else "")
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, input=stdin, timeout=timeout, cwd=cwd, env=env
        )
    except FileNotFoundError as error:
        raise ClusterError(
            f"{words[0]}: not installed; run `python -m deploy.cluster up`"
            " as root, which installs it"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise ClusterError(f"{shown}: no end after {timeout:.0f} s") from error
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise ClusterError(f"{shown}: {lines[-1] if lines else f'exit {done.returncode}'}")
    return done.stdout


def succeeds(argv: Sequence[str | Path], *, timeout: float = 30) -> bool:
    """Whether `argv` ends with exit status 0; its output is dropped."""
    words = [str(word) for word in argv]
    return subprocess.run(words, capture_output=True, timeout=timeout).returncode == 0
