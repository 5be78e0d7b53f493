import os
import subprocess
import sys
from pathlib import Path

import pytest

LISTENER = Path(__file__).with_name("nvtx_listener.c")
CODE = """
from apps.engine.ranges import marked
with marked("attention"):
    print("inside", flush=True)
print("outside", flush=True)
"""
STEP = """
from apps.engine.core import Core
from apps.engine.slices import Slice
from apps.engine.model import Model
core = Core(Model.open({path!r}))
print("ready", flush=True)
core.forward([Slice([1, 2, 3], 0, [0])])
"""


@pytest.fixture(scope="module")
def listener(tmp_path_factory: pytest.TempPathFactory) -> str:
    library = tmp_path_factory.mktemp("nvtx") / "listener.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, LISTENER], check=True)
    return str(library)


def test_a_profiler_sees_the_ranges(listener: str) -> None:
    assert lines(CODE, NVTX_INJECTION64_PATH=listener) == [
        "push switchyard attention",
        "inside",
        "pop switchyard",
        "outside",
    ]


def test_a_profiler_sees_the_core_s_steps(listener: str, tiny_path: Path) -> None:
    seen = lines(STEP.format(path=str(tiny_path)), NVTX_INJECTION64_PATH=listener)
    assert seen[seen.index("ready") + 1 :] == ["push switchyard step", "pop switchyard"]


def test_without_the_library_a_range_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "nvtx.py").write_text("raise ImportError\n")
    path = f"{tmp_path}{os.pathsep}{os.getcwd()}"
    assert lines(CODE, PYTHONPATH=path) == ["inside", "outside"]


def lines(code: str, **environment: str) -> list[str]:
    """What the code prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()
