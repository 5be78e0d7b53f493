"""Each image's requirements.lock: its extra of pyproject.toml at the project's locked versions."""

import sys
import tempfile
from pathlib import Path

from images.command import run
from images.layers import base, wheels
from images.recipe import names

LOCK = "requirements.lock"
APART = {"gateway": ("ml-dtypes", "numpy")}
"""Packages of an image that follow no common pin: the pinned versions, which the pipeline's
Python 3.11 needs, have no wheel for Python 3.13."""
_COMPILE_S = 600


def write(root: Path) -> list[Path]:
    """Rewrite the lock of every image that has Python packages; the files written."""
    return [_write(root, name, python) for name in names(root) if (python := python_of(root, name))]


def python_of(root: Path, name: str) -> str | None:
    """The Python version of an image that installs packages; none for the others."""
    words = [line.split() for line in (root / "images" / name / "layers").read_text().splitlines()]
    bases = [line[1] for line in words if line[:1] == ["base"]]
    if not bases or not any(line[:1] in (["python"], ["wheel"]) for line in words):
        return None
    return str(base.read(root, bases[0])["python"])


def constraints(lock: str, apart: tuple[str, ...]) -> str:
    """`name==version` of every entry of a lock, without those in `apart`."""
    pins = {name: text.split(" ", 1)[0] for name, text in wheels.requirements(lock).items()}
    return "".join(f"{pin}\n" for name, pin in pins.items() if name not in apart)


def _write(root: Path, name: str, python: str) -> Path:
    out = root / "images" / name / LOCK
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as pins:
        pins.write(constraints((root / LOCK).read_text(), APART.get(name, ())))
        pins.flush()
        compile_lock: list[str | Path] = [
            *(sys.executable, "-m", "uv", "pip", "compile", "--quiet"),
            *("--generate-hashes", "--no-emit-index-url", "--no-header", "--no-annotate"),
            *("--only-binary", ":all:", "--python-version", python),
            *("--python-platform", wheels.PLATFORMS[python]),
            *("--extra", name, "--constraints", pins.name, "--output-file", out),
            "pyproject.toml",
        ]
        run(compile_lock, timeout_s=_COMPILE_S, cwd=root)
    return out
