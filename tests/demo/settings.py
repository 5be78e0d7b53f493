"""The admin's two ConfigMaps, pointed at the demo's repository for a while."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.demo.fleet import kubectl

NAMESPACE = "switchyard-rollout"


def _data(name: str) -> dict[str, str]:
    found = json.loads(kubectl("-n", NAMESPACE, "get", "configmap", name, "-o", "json"))
    return dict(found.get("data") or {})


def _patch(name: str, data: dict[str, str | None]) -> None:
    body: dict[str, Any] = {"data": data}
    kubectl("-n", NAMESPACE, "patch", "configmap", name, "--type=merge", "-p", json.dumps(body))


@contextmanager
def pointed_at(url: str, allowed_signers: str) -> Iterator[None]:
    """Let the controller release from `url`, signed by `allowed_signers`; then put back."""
    wanted: dict[str, dict[str, str]] = {
        "rollout-settings": {"git_url": url, "branch": "main"},
        "trust": {"allowed_signers": allowed_signers},
    }
    before = {name: _data(name) for name in wanted}
    for name, data in wanted.items():
        _patch(name, dict(data))
    try:
        yield
    finally:
        for name, data in wanted.items():
            _patch(name, {key: before[name].get(key) for key in data})
