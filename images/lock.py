"""`images/images.lock` and the Kustomize component that puts the same digests into manifests."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from images import cache
from images.errors import ImageError

LOCK = Path("images/images.lock")
COMPONENT = Path("deploy/components/images/kustomization.yaml")
PREFIX = "switchyard/"
_INPUTS = re.compile(r"[0-9a-f]{64}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Locked:
    """One image: what went in (see `images.inputs`) and what came out."""

    inputs: str
    digest: str


@dataclass(frozen=True)
class Lock:
    """The images of one registry, by their names without prefix (`gateway`)."""

    registry: str
    images: Mapping[str, Locked] = field(default_factory=dict)

    def reference(self, name: str) -> str:
        """`registry/switchyard/name@sha256:…`"""
        return f"{self.registry}/{PREFIX}{name}@{self.images[name].digest}"


def parse(text: str, where: str = str(LOCK)) -> Lock:
    """A lock from its YAML; every hash and digest is checked for its form."""
    remedy = "run `python -m images lock`"
    try:
        data: Any = yaml.safe_load(text)
        registry = data["registry"]
        images = {name: Locked(**locked) for name, locked in data["images"].items()}
    except (yaml.YAMLError, TypeError, KeyError, AttributeError) as bad:
        raise ImageError(f"{where} is not a lock of images ({bad!r:.120}): {remedy}") from bad
    for name, locked in images.items():
        if not _INPUTS.fullmatch(str(locked.inputs)) or not _DIGEST.fullmatch(str(locked.digest)):
            raise ImageError(f"{where}: {name}: not a hash and a digest: {remedy}")
    return Lock(str(registry), images)


def dump(lock: Lock) -> str:
    """The lock as YAML, images in the order of their names."""
    images = {
        name: {"inputs": locked.inputs, "digest": locked.digest}
        for name, locked in sorted(lock.images.items())
    }
    return yaml.safe_dump({"registry": lock.registry, "images": images}, sort_keys=False)


def component(lock: Lock) -> str:
    """The Kustomize component that replaces `switchyard/NAME` by registry and digest."""
    return yaml.safe_dump(
        {
            "apiVersion": "kustomize.config.k8s.io/v1alpha1",
            "kind": "Component",
            "images": [
                {
                    "name": PREFIX + name,
                    "newName": f"{lock.registry}/{PREFIX}{name}",
                    "digest": locked.digest,
                }
                for name, locked in sorted(lock.images.items())
            ],
        },
        sort_keys=False,
    )


def read(root: Path) -> Lock | None:
    """The lock of a tree; none where it has none yet."""
    file = root / LOCK
    return parse(file.read_text(), str(file)) if file.is_file() else None


def write(root: Path, lock: Lock) -> None:
    """Write lock and component of a tree, each only when it changes."""
    for path, text in ((root / LOCK, dump(lock)), (root / COMPONENT, component(lock))):
        if not path.is_file() or path.read_text() != text:
            cache.write(path, text)
