"""Where builds keep what they need again, outside the checkout."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def folder() -> Path:
    """`$XDG_CACHE_HOME/switchyard/images`, made if it is not there."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    path = Path(home, "switchyard", "images")
    path.mkdir(parents=True, exist_ok=True)
    return path


def scratch() -> dict[str, str]:
    """An environment in which programs keep big temporary files on the cache's disk."""
    path = folder() / "tmp"
    path.mkdir(exist_ok=True)
    return {"TMPDIR": str(path)}


@contextmanager
def held() -> Iterator[None]:
    """Only one process at a time builds in one cache; another waits here."""
    with (folder() / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
