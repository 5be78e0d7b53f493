"""Look into a built image: does it hold what a hardened pod expects, and does its code import?"""

import os
import stat
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from images import buildah, store
from images.errors import ImageError
from images.layers.layer import USER
from images.recipe import Recipe

_START_S = 120
_PROBE = Path(__file__).with_name("probe.py")
# $0 is the image's root.
_CONFINED = f"""
mount --bind -o ro "$0" "$0" || exit
[ ! -d "$0/tmp" ] || mount -t tmpfs tmpfs "$0/tmp" || exit
exec chroot --userspec={USER}:{USER} "$0" "$@"
"""


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
    image = store.called(plan.name, plan.key())
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
    """What ran, and what went wrong: the user of a pod, a read-only root, no network."""
    entry = settings.get("Entrypoint")
    if not entry:
        return "nothing run", []
    command = probe(entry)
    try:
        done = subprocess.run(
            ["unshare", "--net", "--mount", "sh", "-c", _CONFINED, str(tree), *command],
            env=dict(pair.split("=", 1) for pair in settings.get("Env") or []),
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_START_S,
        )
    except subprocess.TimeoutExpired:
        return "not running", [f"{command[0]} did not end within {_START_S} s"]
    last = ((done.stderr or done.stdout).strip().splitlines() or ["no message"])[-1]
    if done.returncode:
        return "not running", [f"{command[0]} failed: {last}"]
    return last.strip() if command[0] == "python3" else f"{command[0]} runs", []


def probe(entry: list[str]) -> list[str]:
    """A command that loads what `entry` runs, and does not run it."""
    if entry[0] == "python3":
        return ["python3", "-c", _PROBE.read_text()]
    return [entry[0], "-h"]
