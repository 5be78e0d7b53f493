"""Generated ConfigMaps, whose name ends in a hash of what they say: which nothing needs. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

Object = dict[str, Any]

# The letters with which Kustomize writes a hash: no word has only these.
_GENERATED = re.compile("(.+)-[2456789bcdfghkmt]{10}")


def stem(name: str) -> str:
    """A ConfigMap's name without its hash; empty for one that was not generated."""
    match = _GENERATED.fullmatch(name)
    return match[1] if match else ""


def unneeded(configs: Iterable[Object], needed: Iterable[Object]) -> list[str]:
    """The generated ones of `configs` that are not among `needed` and that none of these names."""
    words = set(_words(list(needed)))
    names = [config["metadata"]["name"] for config in configs]
    return sorted(name for name in names if stem(name) and name not in words)


def _words(value: Any) -> Iterator[str]:
    """Every string in manifests: a name may stand in a volume, a variable or an argument."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _words(item)
    elif isinstance(value, list):
        for item in value:
            yield from _words(item)
