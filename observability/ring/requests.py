"""What every line of a ring says about a request, beside what its process knows."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class Lines(Protocol):
    """Where lines go; see Ring."""

    def append(self, fields: Mapping[str, Any]) -> bool: ...


class Requests:
    """Writes a line when a request has ended."""

    def __init__(self, lines: Lines, release: str) -> None:
        self._lines = lines
        self._release = release
        self._boot = BOOT_ID.read_text().strip()

    def ended(self, fields: Mapping[str, Any]) -> None:
        """Add when (CLOCK_MONOTONIC of this boot of this machine) and in which release."""
        common = {"t_ns": time.monotonic_ns(), "boot": self._boot, "release": self._release}
        self._lines.append({**fields, **common})
