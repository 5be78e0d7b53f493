import os
import subprocess
import sys
from pathlib import Path

LISTENER = Path(__file__).with_name("nvtx_listener.c")
CODE = """
from apps.engine.ranges import marked
with marked("attention"):
    print("inside", flush=True)
print("outside", flush=True)
"""


def test_a_profiler_sees_the_ranges(tmp_path: Path) -> None:
    library = tmp_path / "listener.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, LISTENER], check=True)
    assert lines(NVTX_INJECTION64_PATH=str(library)) == [
        "push switchyard attention",
        "inside",
        "pop switchyard",
        "outside",
    ]


def test_without_the_library_a_range_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "nvtx.py").write_text("raise ImportError\n")
    assert lines(PYTHONPATH=f"{tmp_path}{os.pathsep}{os.getcwd()}") == ["inside", "outside"]


def lines(**environment: str) -> list[str]:
    """What CODE prints."""
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()
