"""Layers of Python packages, installed by uv from hashes, outside the container."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from images import archive
from images.command import run
from images.errors import ImageError
from images.layers.base import COMPILE
from images.layers.layer import Layer

PLATFORMS = {"3.11": "x86_64-manylinux_2_36", "3.13": "x86_64-manylinux_2_40"}
"""Python's version to the platform of the Debian that carries it."""
_INSTALL_S = 1800
_NAME = re.compile(r"[A-Za-z0-9._-]+(?===)")
# Nobody reads these in a service: tests, headers, stubs of compiled modules, the installer's notes.
_NEVER = (
    *("*/tests/*", "*/include/*", "*.pyi", "*.pyx", "*.pxd", "*.a"),
    *("*.dist-info/RECORD", "*.dist-info/INSTALLER", "*.dist-info/REQUESTED", ".lock"),
)


def requirements(text: str) -> dict[str, str]:
    """A lock's entries: package name (lower case, `-`) to its lines with all its hashes."""
    entries: dict[str, str] = {}
    name = None
    for line in text.splitlines():
        started = _NAME.match(line)
        if started:
            name = started.group().lower().replace("_", "-").replace(".", "-")
            entries[name] = line + "\n"
        elif name and line.startswith("    --hash"):
            entries[name] += line + "\n"
    return entries


def wheels_layer(
    root: Path, image: str, python: str, only: str | None, apart: Iterable[str] = ()
) -> Layer:
    """One package of the image's lock, or all of them but those that have layers `apart`."""
    folder = root / "images" / image
    if python not in PLATFORMS:
        raise ImageError(f"images/{image}: no packages for Python {python}: {', '.join(PLATFORMS)}")
    locked = requirements(read(folder / "requirements.lock"))
    if only is not None and only not in locked:
        raise ImageError(f"{folder}/layers: {only} is not in requirements.lock")
    chosen = [only] if only else sorted(set(locked) - set(apart))
    wanted = "".join(locked[name] for name in chosen)
    pruned = folder / "prune"
    patterns = pruned.read_text().split() if pruned.is_file() else []
    target = f"/usr/local/lib/python{python}/dist-packages"

    def prepare(context: Path) -> None:
        tree = context / "tree"
        _install(wanted, tree, python)
        archive.prune(tree, (*_NEVER, *patterns))
        _pack(tree, context / "packages.tar", target)

    return Layer(
        title=only or f"python packages ({len(chosen)})",
        key=f"wheels {python} {PLATFORMS[python]} {wanted} {patterns} {_NEVER}",
        containerfile="FROM ${PARENT}\nADD packages.tar /\n" + COMPILE.format(target),
        prepare=prepare,
    )


def read(file: Path) -> str:
    """The text of a file that an image cannot do without."""
    try:
        return file.read_text()
    except OSError as missing:
        raise ImageError(f"{file} is missing: run `python -m images requirements`") from missing


def _install(wanted: str, tree: Path, python: str) -> None:
    lock = tree.with_name("requirements.txt")
    lock.write_text(wanted)
    command = [
        *(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-deps"),
        *("--require-hashes", "--only-binary", ":all:", "--link-mode", "copy"),
        *("--python-version", python, "--python-platform", PLATFORMS[python]),
        *("--target", str(tree), "--requirements", str(lock)),
    ]
    run(command, timeout_s=_INSTALL_S)
    lock.unlink()


def _pack(tree: Path, out: Path, target: str) -> None:
    """Programs go to /usr/local/bin; the rest is on Python's own path in Debian."""
    whole = tree.with_name("whole")
    packages = whole / target.lstrip("/")
    packages.parent.mkdir(parents=True)
    tree.rename(packages)
    programs = packages / "bin"
    if programs.is_dir():
        for program in programs.iterdir():
            # A script names the interpreter of the machine that installed it.
            if program.read_bytes()[:2] == b"#!":
                program.unlink()
        programs.rename(whole / "usr/local/bin")
    archive.pack(whole, out)
