"""Compare rendered manifests: a lane's two overlays, and a candidate with what serves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rollout.finding import Finding
from rollout.names import WANTED_REPLICAS
from rollout.render import Manifest


def pair(canary: Sequence[Manifest], prod: Sequence[Manifest]) -> list[Finding]:
    """What differs between a lane's two overlays apart from the wanted sizes."""
    candidate, serving = by_name(canary), by_name(prod)
    found = []
    for key in sorted(candidate.keys() | serving.keys()):
        what = _difference(candidate.get(key), serving.get(key))
        if what:
            remedy = "move it to base/: what was tested must be what serves"
            found.append(Finding("pair", " ".join(key), what, remedy))
    return found


def against(previous: Sequence[Manifest], candidate: Sequence[Manifest]) -> list[Finding]:
    """Selectors that changed since the release that serves (both rendered for one lane)."""
    before, found = by_name(previous), []
    for key, item in by_name(candidate).items():
        if key in before and _selector(before[key]) != _selector(item):
            remedy = "keep it: a Deployment cannot change its selector; give a new part a new name"
            found.append(Finding("selector", " ".join(key), "its selector changed", remedy))
    return found


def by_name(objects: Iterable[Manifest]) -> dict[tuple[str, str], Manifest]:
    """Objects by kind and name."""
    return {(item["kind"], item["metadata"]["name"]): item for item in objects}


def first_difference(one: Any, other: Any, path: str = "") -> str | None:
    """Path of the first place where two trees differ, such as `spec.ports.0.port`."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = sorted(one.keys() | other.keys())
        pairs = [(str(key), one.get(key), other.get(key)) for key in keys]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        pairs = [(str(place), *both) for place, both in enumerate(zip(one, other, strict=True))]
    else:
        return None if one == other else path
    found = (first_difference(a, b, f"{path}.{key}".lstrip(".")) for key, a, b in pairs)
    return next((place for place in found if place is not None), None)


def _difference(canary: Manifest | None, prod: Manifest | None) -> str:
    if canary is None or prod is None:
        return f"it is only in the {'prod' if canary is None else 'canary'} overlay"
    path = first_difference(_without_size(canary), _without_size(prod))
    return f"{path} differs between the canary and the prod overlay" if path is not None else ""


def _without_size(item: Manifest) -> Manifest:
    metadata = dict(item["metadata"])
    annotations = dict(metadata.pop("annotations", None) or {})
    annotations.pop(WANTED_REPLICAS, None)
    return {**item, "metadata": {**metadata, "annotations": annotations}}


def _selector(item: Manifest) -> Any:
    return (item.get("spec") or {}).get("selector")
