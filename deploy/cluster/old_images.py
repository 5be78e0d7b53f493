"""Old images leave the cluster's registry, so that it does not grow with every build."""

from __future__ import annotations

import re
import shutil
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from deploy.cluster.shell import run
from deploy.cluster.topology import Cluster
from deploy.errors import ApplyError
from deploy.kubectl import Kubectl
from images import cache, lock

KEPT = 5
"""The last pushes of each image that stay, whatever names them."""
NAMING = "deployments,statefulsets,daemonsets,replicasets,jobs,pods"
COLLECT_S = 600.0
_REPOSITORIES = "docker/registry/v2/repositories/switchyard"
_DIGEST = re.compile("sha256:[0-9a-f]{64}")


@dataclass(frozen=True)
class Pushed:
    """A tag of an image: what it names, and when that was pushed (unix seconds)."""

    image: str
    tag: str
    digest: str
    at: float


def collect(cluster: Cluster, root: Path, tags: Collection[str]) -> int:
    """Forget what nothing names, but for the last pushes; how many. Frees the space.

    Named is a digest in `root`'s lock, in a pod or its template, or in the
    record of a release; `tags` are named too. Nothing goes while somebody builds.
    """
    pushed = read(cluster.registry_data)
    if not superfluous(pushed, tags):
        return 0
    try:
        named = {*tags, *_named(Kubectl(str(cluster.kubeconfig)))}
    except ApplyError:
        return 0  # who cannot be asked may need them all
    if (root / lock.LOCK).is_file():
        named |= set(_DIGEST.findall((root / lock.LOCK).read_text()))
    with cache.idle() as idle:
        old = superfluous(pushed, named) if idle else []
        forget(cluster.registry_data, cluster.config / "registry.yaml", old)
    return len(old)


def superfluous(pushed: Iterable[Pushed], named: Collection[str]) -> list[Pushed]:
    """What is neither among the last `KEPT` of its image nor named, by digest or tag."""
    by_image: dict[str, list[Pushed]] = {}
    for one in sorted(pushed, key=lambda one: one.at, reverse=True):
        by_image.setdefault(one.image, []).append(one)
    older = [one for group in by_image.values() for one in group[KEPT:]]
    return [one for one in older if one.digest not in named and one.tag not in named]


def read(data: Path) -> list[Pushed]:
    """All tags in the registry's folder."""
    found = []
    for link in (data / _REPOSITORIES).glob("*/_manifests/tags/*/current/link"):
        tag = link.parents[1]
        digest, at = link.read_text().strip(), link.stat().st_mtime
        found.append(Pushed(tag.parents[2].name, tag.name, digest, at))
    return found


def forget(data: Path, config: Path, old: Collection[Pushed]) -> None:
    """Delete tags; then the registry's own collector deletes what no tag leads to."""
    for one in old:
        shutil.rmtree(data / _REPOSITORIES / one.image / "_manifests/tags" / one.tag)
    if old:
        run(["docker-registry", "garbage-collect", "-m", config], timeout=COLLECT_S)


def _named(kubectl: Kubectl) -> set[str]:
    words = ("get", "--all-namespaces", "--chunk-size=20", "-o")
    pods = kubectl.run(*words, "json", NAMING)
    # What is packed in a record is of the same images as its plain part.
    records = kubectl.run(
        *words, "jsonpath={.items[*].data}", "configmaps", "--selector=switchyard/record"
    )
    return {*_DIGEST.findall(pods), *_DIGEST.findall(records)}
