"""Pods that the tests and the demo run Python in, within what the namespaces allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from images.lock import read

ROOT = Path(__file__).parent.parent


def python_image(tree: Path = ROOT) -> str:
    """An image with a Python in it, by digest, from the lock that building `tree` wrote."""
    lock = read(tree)
    assert lock is not None, "no images are built: run `make images`"
    return lock.reference("tickets")


def client_pod(
    name: str,
    command: Sequence[str],
    *,
    namespace: str,
    app: str,
    image: str = "",
    container: Mapping[str, Any] | None = None,
    **spec: Any,
) -> dict[str, Any]:
    """A pod without rights that runs once; more fields of its `container` and of its `spec`."""
    one = {
        "name": "client",
        "image": image or python_image(),
        "command": list(command),
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        **(container or {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": app}},
        "spec": {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": 0,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 10001,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [one],
            **spec,
        },
    }
