"""A release's rendered manifests, as data: sizes, images, the same for the other lane, one hash."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

from rollout.candidate import Size
from rollout.errors import RolloutError
from rollout.names import LANES, WANTED_REPLICAS

Manifest = dict[str, Any]

_LANE_WORD = re.compile(r"(?<![A-Za-z0-9])(?:blue|green)(?![A-Za-z0-9])")


class BadManifest(RolloutError):
    """A rendered manifest that a lane cannot be made of."""


def sizes(canary: list[Manifest], prod: list[Manifest]) -> dict[str, Size]:
    """Replicas by part (label `app`), from the two overlays of one lane."""
    small, full = _wanted(canary), _wanted(prod)
    if small.keys() != full.keys():
        differs = ", ".join(sorted(small.keys() ^ full.keys()))
        raise BadManifest(f"the canary and prod overlays differ in {differs}: make them equal")
    return {part: Size(small[part], full[part]) for part in small}


def images(manifests: list[Manifest]) -> dict[str, str]:
    """Container image by Deployment and container: `gateway/gateway`."""
    found = {}
    for one in _deployments(manifests):
        spec = one["spec"]["template"]["spec"]
        for container in (*(spec.get("initContainers") or []), *spec["containers"]):
            found[f"{_part(one)}/{container['name']}"] = str(container["image"])
    return found


def for_lane(manifests: list[Manifest], lane: str) -> list[Manifest]:
    """The same release on another lane: every word `blue` or `green` becomes `lane`.

    A ConfigMap's own data is left alone: lanes reach their parts by the
    environment variable LANE, so no lane's name stands in it.
    """
    return [_rewrite(one, lambda _word: lane) for one in manifests]


def neutral_hash(manifests: list[Manifest]) -> str:
    """SHA3-512 (hex) of the manifests without their lane: the key of a verdict."""
    neutral = [_rewrite(one, lambda _word: "LANE") for one in manifests]
    ordered = sorted(neutral, key=lambda one: (one["kind"], one["metadata"]["name"]))
    text = json.dumps(ordered, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha3_512(text.encode()).hexdigest()


def lane_of(manifests: list[Manifest]) -> str:
    """The one lane that the Deployments are labelled with. Raises BadManifest."""
    lanes = {
        str((one["metadata"].get("labels") or {}).get("lane", ""))
        for one in _deployments(manifests)
    }
    if len(lanes) != 1 or not lanes <= {*LANES, "staging"}:
        raise BadManifest(f"Deployments of the lanes {sorted(lanes)}: render one lane's overlay")
    return lanes.pop()


def _wanted(manifests: list[Manifest]) -> dict[str, int]:
    found = {}
    for one in _deployments(manifests):
        value = str((one["metadata"].get("annotations") or {}).get(WANTED_REPLICAS, ""))
        if not value.isdecimal() or int(value) < 1:
            raise BadManifest(
                f"Deployment {one['metadata']['name']}: annotation {WANTED_REPLICAS} is "
                f"{value!r}: give a number from 1"
            )
        found[_part(one)] = int(value)
    if not found:
        raise BadManifest("the overlay renders no Deployment: look at its resources")
    return found


def _deployments(manifests: list[Manifest]) -> list[Manifest]:
    return [one for one in manifests if one["kind"] == "Deployment"]


def _part(one: Manifest) -> str:
    part = str(one["metadata"].get("labels", {}).get("app", ""))
    if not part:
        raise BadManifest(f"Deployment {one['metadata']['name']}: label `app` is missing: add it")
    return part


def _rewrite(one: Manifest, word: Callable[[re.Match[str]], str]) -> Manifest:
    own: Manifest = {key: one[key] for key in ("data", "binaryData") if key in one}
    rest = {key: value for key, value in one.items() if key not in own}
    rewritten: Manifest = _walk(rest, word)
    return {**rewritten, **own}


def _walk(value: Any, word: Callable[[re.Match[str]], str]) -> Any:
    if isinstance(value, str):
        return _LANE_WORD.sub(word, value)
    if isinstance(value, list):
        return [_walk(item, word) for item in value]
    if isinstance(value, dict):
        return {_walk(key, word): _walk(item, word) for key, item in value.items()}
    return value
