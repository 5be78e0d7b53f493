"""A pytest plugin that puts the kernels built with sanitizers in the place of the usual ones."""

import os
from pathlib import Path

from apps.engine import native
from apps.engine.native.build import FOLDER

VARIABLE = "SANITIZED_CORE"


def pytest_configure() -> None:
    native.MODULE = Path(os.environ[VARIABLE])
    native.load.cache_clear()


def pytest_sessionfinish() -> None:
    """They, and none of the usual ones, must have been in this process."""
    maps = Path("/proc/self/maps").read_text()
    assert os.environ[VARIABLE] in maps
    assert str(FOLDER) not in maps
    assert "libasan" in maps
