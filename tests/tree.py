"""A copy of deploy/ that renders without built images: each gets a digest that nobody pushed."""

from __future__ import annotations

import shutil
from pathlib import Path

from images.lock import COMPONENT, Lock, Locked, component

ROOT = Path(__file__).parent.parent
IMAGES = (
    "gateway",
    "pipeline",
    "tickets",
    "postgres",
    "split-dns",
    "rollout",
    "network-policies",
    "loader",
    "tracing",
    "embedder",
)
OVERLAYS = (
    "platform",
    "local",
    "staging",
    "load",
    "migrate",
    "canary/blue",
    "canary/green",
    "prod/blue",
    "prod/green",
)


def lock() -> Lock:
    """A lock with a digest for every image."""
    locked = {name: Locked(f"{i:064x}", f"sha256:{i:064x}") for i, name in enumerate(IMAGES)}
    return Lock("registry.example:5000", locked)


def copy_deploy(into: Path) -> Path:
    """`into` with a deploy/ that can be changed and rendered; returns `into`."""
    kept = shutil.ignore_patterns("cluster", "images", "*.py", "__pycache__")
    shutil.copytree(ROOT / "deploy", into / "deploy", ignore=kept)
    file = into / COMPONENT
    file.parent.mkdir(parents=True)
    file.write_text(component(lock()))
    return into


def edit(tree: Path, path: str, old: str, new: str) -> None:
    """Replace text in a file of the copy; `old` must be there."""
    file = tree / path
    text = file.read_text()
    assert old in text, f"{old!r} is not in {path}"
    file.write_text(text.replace(old, new))
