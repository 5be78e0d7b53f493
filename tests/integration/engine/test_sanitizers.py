"""The kernels' own tests once more, compiled with AddressSanitizer and UBSan.

Python takes all its memory from the sanitizer's allocator, so that reading one byte behind
a matrix or a step is found, too.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from apps.engine.native.build import build, is_current
from tests.integration.engine.sanitized import VARIABLE

ROOT = Path(__file__).parents[3]
FLAGS = (
    *("-O1", "-g", "-fno-omit-frame-pointer"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"),
)
TESTS = [
    f"tests/unit/engine/test_engine_{name}.py"
    for name in ("core", "kernels", "native_attention", "native_checks")
]
# Its limit is for a process without a sanitizer's own memory.
NOT_HERE = "not memory_is_stated"
_TESTS_S = 1800


@pytest.fixture(scope="module")
def module() -> Path:
    """Compiled once for these sources; it takes minutes."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    out = Path(home, "switchyard", "sanitized", "_core.abi3.so")
    out.parent.mkdir(parents=True, exist_ok=True)
    if not is_current(out):
        build(out, FLAGS)
    return out


def test_the_kernels_tests_pass_under_sanitizers(module: Path) -> None:
    library = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    given = {
        "LD_PRELOAD": library,
        # Python itself frees little at its end.
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        VARIABLE: str(module),
    }
    # -s: a report must not be lost with the captured output of a process that it ends.
    command = [sys.executable, "-m", "pytest", "-qs", "-p", "tests.integration.engine.sanitized"]
    done = subprocess.run(
        [*command, "-k", NOT_HERE, *TESTS],
        cwd=ROOT,
        env={**os.environ, **given},
        capture_output=True,
        text=True,
        timeout=_TESTS_S,
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    assert " passed" in done.stdout
