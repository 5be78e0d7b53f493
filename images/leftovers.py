"""What earlier builds left in the cache: the last few of each image stay, the rest goes."""

import json
import shutil
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from images import cache, store
from images.recipe import Recipe

KEPT = 5
"""Builds of each image that stay in the local store."""
_RECORD_S = 30 * 86400


@dataclass(frozen=True)
class Use:
    """That a recipe was last wanted `at` (unix seconds), over layers of these keys."""

    name: str
    key: str
    layers: tuple[str, ...]
    at: float


def note(plan: Recipe) -> None:
    """Remember that this recipe is wanted now: images themselves carry no time."""
    layers = json.dumps(plan.layer_keys())
    cache.write(_uses() / plan.name / f"{plan.key()}.json", layers)


def forget() -> int:
    """Delete old images, and records of pushes that nobody asked for in 30 days; how many images.

    Call it alone, in `cache.held`.
    """
    uses = [
        Use(file.parent.name, file.stem, tuple(json.loads(file.read_text())), file.stat().st_mtime)
        for file in _uses().glob("*/*.json")
    ]
    kept = wanted(uses)
    old = sorted(store.stored() - kept)
    store.remove(old)
    for use in uses:
        if store.called(use.name, use.key) not in kept:
            (_uses() / use.name / f"{use.key}.json").unlink()
    _forget_pushes(cache.folder() / "pushed", time.time() - _RECORD_S)
    return len(old)


def wanted(uses: Iterable[Use]) -> set[str]:
    """The names in the local store of the last `KEPT` builds of each image, and of their layers."""
    by_name: dict[str, list[Use]] = {}
    for use in uses:
        by_name.setdefault(use.name, []).append(use)
    last = [use for group in by_name.values() for use in _newest(group)]
    layers = {store.called(store.LAYER, key) for use in last for key in use.layers}
    return layers | {store.called(use.name, use.key) for use in last}


def _newest(uses: Sequence[Use]) -> list[Use]:
    return sorted(uses, key=lambda use: use.at, reverse=True)[:KEPT]


def _uses() -> Path:
    return cache.folder() / "used"


def _forget_pushes(folder: Path, before: float) -> None:
    """What is gone is pushed again, which costs little: the registry has its layers."""
    for registry in folder.glob("*"):
        files = list(registry.glob("*/*.json"))
        if all(file.stat().st_mtime < before for file in files):
            shutil.rmtree(registry)
            continue
        for file in files:
            if file.stat().st_mtime < before:
                file.unlink()
