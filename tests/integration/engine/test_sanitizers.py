"""The kernels' own tests once more, compiled with AddressSanitizer and UBSan.

Python takes all its memory from the sanitizer's allocator, so that reading one byte behind
a matrix or a step is found, too.
"""

import os
import subprocess
import sys
from pathlib import Path

from tests.integration.engine.sanitized import SANITIZED

ROOT = Path(__file__).parents[3]
TESTS = [
    f"tests/unit/engine/test_engine_{name}.py"
    for name in ("core", "kernels", "native_attention", "native_checks")
]
# Its limit is for a process without a sanitizer's own memory.
NOT_HERE = "not memory_is_stated"
_TESTS_S = 1800


def test_the_kernels_tests_pass_under_sanitizers() -> None:
    if not SANITIZED.is_current(SANITIZED.module):  # it takes minutes
        SANITIZED.module.parent.mkdir(parents=True, exist_ok=True)
        SANITIZED.build(SANITIZED.module)
    library = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    given = {
        "LD_PRELOAD": library,
        # Python itself frees little at its end.
        "ASAN_OPTIONS": "detect_leaks=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
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
