"""Look into a built image: does it hold what a hardened pod expects, and does its code import?"""

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from images import buildah
from images.errors import ImageError
from images.layers.layer import USER
from images.recipe import Recipe

_START_S = 120


@dataclass(frozen=True)
class Report:
    """What was found in one image."""

    name: str
    unpacked: int
    """Bytes of its files."""
    started: str
    """What was run in it."""
    findings: list[str]
    """One line for each thing that is wrong."""


def check(plan: Recipe) -> Report:
    """Check the image of `plan` in the local store."""
    image = f"localhost/switchyard/{plan.name}:{plan.key()}"
    if not buildah.exists(image):
        raise ImageError(f"{plan.name} is not built: run `python -m images build {plan.name}`")
    settings = buildah.settings(image)
    with buildah.mounted(image) as tree:
        findings = [*config_findings(settings), *tree_findings(tree)]
        started, failure = _start(tree, settings)
        size = sum(file.lstat().st_size for file in _files(tree))
    return Report(plan.name, size, started, findings + failure)


def config_findings(settings: dict[str, Any]) -> Iterator[str]:
    """What is wrong with an image's OCI configuration."""
    if settings.get("User") != f"{USER}:{USER}":
        user = settings.get("User") or "root"
        yield f"runs as {user}, not as {USER}:{USER}: give its Containerfile a USER"
    if not settings.get("Entrypoint"):
        yield "has no entry: give its Containerfile an ENTRYPOINT"
    for variable in settings.get("Env") or []:
        name = variable.split("=", 1)[0]
        if any(word in name for word in ("KEY", "TOKEN", "PASSWORD", "SECRET")):
            yield f"sets {name}: secrets come from the cluster"


def tree_findings(tree: Path) -> Iterator[str]:
    """What is wrong with an image's files."""
    for file in _files(tree):
        status = file.lstat()
        path = f"/{file.relative_to(tree)}"
        if status.st_mode & (stat.S_ISUID | stat.S_ISGID) and stat.S_ISREG(status.st_mode):
            yield f"{path} has a set-id bit"
        if stat.S_ISREG(status.st_mode) and status.st_mode & stat.S_IWOTH:
            yield f"{path} can be written by everybody"
        if stat.S_ISREG(status.st_mode) and status.st_uid == USER:
            yield f"{path} belongs to the user that runs it, who could change it"
    if f":x:{USER}:{USER}:" not in (tree / "etc/passwd").read_text():
        yield f"/etc/passwd knows no user {USER}"


def _files(tree: Path) -> Iterator[Path]:
    for base, _, names in os.walk(tree):
        for name in names:
            yield Path(base, name)


def _start(tree: Path, settings: dict[str, Any]) -> tuple[str, list[str]]:
    """Run the entry's program so far that everything it imports is there; no network, no root."""
    entry = settings["Entrypoint"]
    command = probe(entry)
    environment = dict(pair.split("=", 1) for pair in settings.get("Env") or [])
    try:
        done = subprocess.run(
            ["unshare", "--net", "chroot", f"--userspec={USER}:{USER}", str(tree), *command],
            env={"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin", **environment},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_START_S,
        )
    except subprocess.TimeoutExpired:
        return " ".join(command), [f"{json.dumps(command)} did not end within {_START_S} s"]
    failure = (done.stderr.strip().splitlines() or ["no message"])[-1]
    return " ".join(command), [f"{command} failed: {failure}"] if done.returncode else []


def probe(entry: list[str]) -> list[str]:
    """A command that loads what `entry` runs, and does not run it."""
    match entry:
        case ["python3", "-m", module, *_]:
            # A package's __main__ ends in a call guarded by its name, or is only looked for here.
            code = f"import importlib, importlib.util as u; importlib.import_module({module!r})"
            return [
                "python3",
                "-c",
                f"{code}; assert u.find_spec({module!r} + '.__main__') or True",
            ]
        case [program, *_]:
            return [program, "-version"]
        case _:
            raise ImageError("an image without an entry cannot be started")
