"""A pytest plugin that puts the kernels built with sanitizers in the place of the usual ones."""

import os
from dataclasses import replace
from pathlib import Path

from apps.engine import native

HOME = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "switchyard", "sanitized")
SANITIZED = replace(
    native.EXTENSION,
    module=HOME / "_core.abi3.so",
    flags=(
        *native.EXTENSION.flags,
        *("-O1", "-g", "-fno-omit-frame-pointer"),
        *("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
    ),
)


def pytest_configure() -> None:
    native.EXTENSION = SANITIZED
    native.load.cache_clear()


def pytest_sessionfinish() -> None:
    """They, and none of the usual ones, must have been in this process."""
    maps = Path("/proc/self/maps").read_text()
    assert str(SANITIZED.module) in maps
    assert str(SANITIZED.folder) not in maps
    assert "libasan" in maps
