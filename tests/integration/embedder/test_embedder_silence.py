"""The library that computes reports to nobody: it neither names the machine nor keeps a report."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
HOLDER = "apps/embedder/runtime.py"
# With these the library holds its tongue by itself.
QUIET = ("ORT_DISABLE_TELEMETRY", "ORT_RUNNING_UNIT_TESTS", "CI")


def left_at_home(program: str, home: Path) -> list[str]:
    """What a Python program that ran with an empty home left there."""
    environment = {name: value for name, value in os.environ.items() if name not in QUIET}
    environment |= {"HOME": str(home), "XDG_CACHE_HOME": "", "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, timeout=60)
    return [str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()]


def test_ours_leaves_nothing(tmp_path: Path) -> None:
    assert left_at_home("import apps.embedder", tmp_path) == []


def test_it_would_without_us(tmp_path: Path) -> None:
    assert left_at_home("import onnxruntime", tmp_path)


@pytest.mark.parametrize("folder", ["apps", "rollout", "images", "deploy", "observability"])
def test_nobody_loads_it_past_that(folder: str) -> None:
    loading = [
        str(file.relative_to(ROOT))
        for file in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(file.read_bytes()))
        if (isinstance(node, ast.Import) and any(a.name == "onnxruntime" for a in node.names))
        or (isinstance(node, ast.ImportFrom) and node.module == "onnxruntime")
    ]
    assert loading == ([HOLDER] if folder == "apps" else [])
