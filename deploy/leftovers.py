"""ConfigMaps that an earlier tree generated for the platform and that no pod template names."""

from __future__ import annotations

from collections.abc import Iterable

from deploy.kubectl import Kubectl
from rollout.generated import stem, unneeded
from rollout.render import Manifest

# An older ReplicaSet names what `kubectl rollout undo` would need.
NAMING = "deployments,replicasets,statefulsets,daemonsets,jobs,cronjobs,pods"


def remove(kubectl: Kubectl, platform: Iterable[Manifest]) -> list[str]:
    """Delete them; their names. Only those with a successor in `platform` (as rendered)."""
    removed = []
    for namespace, stems in _generated(platform).items():
        configs = kubectl.list("configmaps", namespace)
        older = [one for one in configs if stem(one["metadata"]["name"]) in stems]
        needed = [*kubectl.list(NAMING, namespace), *_of(platform, namespace)]
        for name in unneeded(older, needed):
            kubectl.run("delete", "configmap", name, "-n", namespace, "--ignore-not-found")
            removed.append(name)
    return removed


def _generated(platform: Iterable[Manifest]) -> dict[str, set[str]]:
    """By namespace the names, without their hashes, of the ConfigMaps that this tree generates."""
    found: dict[str, set[str]] = {}
    for item in platform:
        name = stem(item["metadata"]["name"])
        if name and item["kind"] == "ConfigMap":
            found.setdefault(item["metadata"]["namespace"], set()).add(name)
    return found


def _of(platform: Iterable[Manifest], namespace: str) -> list[Manifest]:
    return [item for item in platform if item["metadata"].get("namespace") == namespace]
