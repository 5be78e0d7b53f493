"""Build images and push them: what is there already is left alone."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from images import buildah, cache, registry, store
from images.errors import ImageError
from images.layers.built import copy_inputs
from images.recipe import Recipe, recipe

Say = Callable[[str], None]


@dataclass(frozen=True)
class Built:
    """One image after a build."""

    name: str
    inputs: str
    digest: str | None
    """None until it was pushed."""
    packed: int | None
    """Bytes in the registry."""
    seconds: float
    what: str
    """`unchanged`, `built`, `pushed`"""


def build(root: Path, name: str, target: str | None, say: Say) -> Built:
    """Build image `name` of the tree `root`, and push it where `target` names a registry."""
    began = time.monotonic()
    plan = recipe(root, name)
    try:
        stored, what = _ensure(root, plan, target, say)
    except ImageError as bad:
        raise ImageError(f"{name}: {bad}") from bad
    took = time.monotonic() - began
    digest, packed = (stored.digest, stored.packed) if stored else (None, None)
    return Built(name, plan.inputs_hash, digest, packed, took, what)


def _ensure(
    root: Path, plan: Recipe, target: str | None, say: Say
) -> tuple[registry.Stored | None, str]:
    stored = pushed(target, plan) if target else None
    what = "unchanged"
    if not stored:
        local = store.called(plan.name, plan.key())
        if not buildah.exists(local):
            what = "built"
            _build(root, plan, local, say)
        if target:
            what = "pushed"
            stored = _push(target, plan, local)
    return stored, what


def pushed(target: str, plan: Recipe) -> registry.Stored | None:
    """What an earlier build pushed for the same recipe, if the registry still has it."""
    record = _record(target, plan)
    if not record.is_file():
        return None
    os.utime(record)
    return registry.find(target, plan.name, json.loads(record.read_text())["digest"])


def parent(plan: Recipe, say: Say) -> str:
    """The local image that the sources go onto; its missing layers are made."""
    below = ""
    for layer, key in zip(plan.layers, plan.layer_keys(), strict=True):
        image = store.called(store.LAYER, key)
        if not buildah.exists(image):
            began = time.monotonic()
            with cache.context() as context:
                layer.prepare(context)
                text = "ARG PARENT\n" + layer.containerfile
                buildah.build(image, text, context, below)
            say(f"{plan.name}: {layer.title} ({time.monotonic() - began:.1f} s)")
        below = image
    return below


def _build(root: Path, plan: Recipe, image: str, say: Say) -> None:
    with cache.context() as context:
        copy_inputs(root, plan.inputs, context, plan.inputs_hash)
        below = parent(plan, say)
        buildah.build(image, plan.containerfile, context, below)


def _push(target: str, plan: Recipe, local: str) -> registry.Stored:
    place = registry.target(target, plan.name, plan.key())
    digest = buildah.push(local, place, tls=registry.uses_tls(target))
    stored = registry.find(target, plan.name, digest)
    if stored is None:
        raise ImageError(
            f"{place}: pushed as {digest}, but the registry does not have it: push again"
        )
    cache.write(_record(target, plan), json.dumps(asdict(stored)))
    return stored


def _record(target: str, plan: Recipe) -> Path:
    place = target.replace("/", "_")
    return cache.folder() / "pushed" / place / plan.name / f"{plan.key()}.json"
