"""The local store of images and layers: what it holds, and what goes out of it."""

import json
from collections.abc import Sequence

# Not beside it: a change of images/buildah.py makes every layer anew.
from images.buildah import _buildah
from images.command import run

LAYER = "layer"
_PREFIX = "localhost/switchyard/"
_PARENT = f"{_PREFIX}parent:"
_REMOVE_S = 600


def called(name: str, key: str) -> str:
    """What an image, or a layer (`LAYER`), is called in the store."""
    return f"{_PREFIX}{name}:{key}"


def stored() -> set[str]:
    """The names of all images and layers in the store."""
    listed = json.loads(run(_buildah("images", "--json"), timeout_s=60) or "[]") or []
    names = {name for image in listed for name in image.get("names") or []}
    return {name for name in names if name.startswith(_PREFIX) and not name.startswith(_PARENT)}


def remove(images: Sequence[str]) -> None:
    """Delete images from the store; what lies below others stays with them."""
    if images:
        run(_buildah("rmi", *images), timeout_s=_REMOVE_S)
