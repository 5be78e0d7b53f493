"""What an earlier tree generated for the platform goes, unless a pod template still names it."""

from __future__ import annotations

from typing import Any, cast

from deploy import leftovers
from deploy.kubectl import Kubectl
from rollout.render import Manifest

NEW, OLD, OLDER, ADMINS = (
    "split-dns-2t4k8m9hgb", "split-dns-c6f5d7g8h9", "split-dns-bbbbbbbbbb", "notes-dddddddddd",
)  # fmt: skip


def config(name: str) -> Manifest:
    metadata = {"name": name, "namespace": "switchyard-dns"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def replica_set(reads: str) -> Manifest:
    pod = {"volumes": [{"name": "config", "configMap": {"name": reads}}]}
    metadata = {"name": "split-dns-6d4", "namespace": "switchyard-dns"}
    return {"kind": "ReplicaSet", "metadata": metadata, "spec": {"template": {"spec": pod}}}


class Cluster:
    """Objects by what is listed; keeps what was deleted."""

    def __init__(self, **objects: list[Manifest]) -> None:
        self.objects = objects
        self.deleted: list[str] = []

    def list(self, kind: str, namespace: str) -> list[Manifest]:
        assert namespace == "switchyard-dns"
        return self.objects["configmaps" if kind == "configmaps" else "naming"]

    def run(self, *words: Any) -> str:
        assert words[:2] == ("delete", "configmap")
        self.deleted.append(words[2])
        return ""


def test_only_generated_ones_with_a_successor_go_and_only_when_nothing_names_them() -> None:
    found = Cluster(
        configmaps=[config(name) for name in (NEW, OLD, OLDER, ADMINS, "split-dns")],
        naming=[replica_set(OLD)],
    )
    platform = [config(NEW), {"kind": "Namespace", "metadata": {"name": "switchyard-dns"}}]
    assert leftovers.remove(cast(Kubectl, found), platform) == [OLDER]
    assert found.deleted == [OLDER]


def test_a_tree_that_generates_nothing_asks_for_nothing() -> None:
    found = Cluster()
    assert leftovers.remove(cast(Kubectl, found), [config("plain")]) == []
