"""Files that other processes read, and locks that they wait for."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def write(path: Path, text: str, mode: int = 0o666) -> None:
    """Write, if it differs, so that no reader ever sees half of it or a wider mode."""
    if path.exists() and path.read_text() == text:
        return
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w") as file:
        file.write(text)
    fresh.replace(path)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Only one process at a time is in here with the same `path`; a second one waits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
