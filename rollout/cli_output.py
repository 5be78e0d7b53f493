"""How the terminal speaks: lines for a person, JSON for a program."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from rollout.errors import RolloutError


class NotGranted(RolloutError):
    """What was asked for ended otherwise."""


def show(given: argparse.Namespace, data: Any, text: list[str]) -> None:
    """Print `data` as JSON, or `text` line by line."""
    if given.output == "json":
        print(json.dumps(data, ensure_ascii=False, indent=1))
        return
    for line in text:
        print(line)


def progress(given: argparse.Namespace) -> Callable[[str], None]:
    """Prints a line with the seconds since now; silent for a program."""
    began = time.monotonic()

    def say(line: str) -> None:
        if given.output == "text":
            print(f"{time.monotonic() - began:7.1f} s  {line}", flush=True)

    return say
