"""The rules that one rendered object must keep; each is a generator of findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rollout.finding import Finding
from rollout.names import EPOCH, PREVIOUS_LANE, RELEASE, ROLE, WANTED_REPLICAS, Names
from rollout.pod_security import privileges, weaknesses
from rollout.render import Manifest

Rule = Callable[[Manifest], Iterator[Finding]]

APPLIED = frozenset(
    {"Deployment", "ConfigMap", "Service", "HorizontalPodAutoscaler", "PodDisruptionBudget"}
)
"""The only kinds that the controller applies: a commit cannot widen its own rights."""
WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet", "Job")
SUBJECTS = ("RoleBinding", "ClusterRoleBinding")
MARKS = (EPOCH, PREVIOUS_LANE, RELEASE, ROLE)
"""Labels and annotations by which the controller knows its own work."""
METADATA = (("metadata",), ("spec", "template", "metadata"))
_DIGEST = re.compile(r"[^@/]+(?:/[^@/]+)+@sha256:[0-9a-f]{64}")
_NAMES = Names()


def image_by_digest(item: Manifest) -> Iterator[Finding]:
    """Every image is named by its digest: a tag may mean something else tomorrow."""
    pod = pod_of(item)
    for container in [*(pod.get("initContainers") or []), *(pod.get("containers") or [])]:
        image = str(container.get("image", ""))
        if not _DIGEST.fullmatch(image):
            name = image.split("@")[0].rsplit("/", 1)[-1].split(":")[0] or "NAME"
            remedy = f"run `python -m images build {name} --push`, which writes its digest"
            yield fault("image", item, f"image {image or '(none)'} is not by digest", remedy)


def no_role(item: Manifest) -> Iterator[Finding]:
    """Roles and slots are the controller's own: no overlay contains them."""
    spec, metadata = item.get("spec") or {}, item["metadata"]
    if item["kind"] != "Service":
        return
    if spec.get("type") == "ExternalName" or "externalName" in spec:
        yield fault("owned", item, "it has an externalName", "leave slots to the controller")
    role = metadata["name"] == _NAMES.stable or metadata["name"].startswith("assistant-")
    if role or metadata.get("namespace") == _NAMES.slots:
        yield fault("owned", item, "it is a role or a slot", "leave it to the controller")


def applied(item: Manifest) -> Iterator[Finding]:
    """Only kinds that the controller applies."""
    if item["kind"] not in APPLIED:
        remedy = f"only {', '.join(sorted(APPLIED))} may be released; others are the admin's"
        yield fault("kind", item, "this kind is not applied by the controller", remedy)


def no_size(item: Manifest) -> Iterator[Finding]:
    """Replica counts are the controller's; a Deployment says its wanted size in an annotation."""
    spec = item.get("spec") or {}
    remedy = f"say the size in the annotation {WANTED_REPLICAS}"
    for field in ("replicas", "minReplicas"):
        if field in spec:
            yield fault("owned", item, f"spec.{field} is set", remedy)
    if item["kind"] == "Deployment":
        size = str((item["metadata"].get("annotations") or {}).get(WANTED_REPLICAS, ""))
        if not re.fullmatch(r"[1-9][0-9]{0,2}", size):
            what = f"annotation {WANTED_REPLICAS} is {size or 'missing'!r}"
            yield fault("size", item, what, "give a whole number from 1 to 999")


def no_marks(item: Manifest) -> Iterator[Finding]:
    """No object carries the controller's marks: only the controller says what serves."""
    for path in METADATA:
        for field in ("labels", "annotations"):
            for mark in sorted(at(item, *path, field).keys() & set(MARKS)):
                what = f"{'.'.join((*path, field))} has {mark}"
                yield fault("owned", item, what, "remove it: the controller writes it")


def plain_service(item: Manifest) -> Iterator[Finding]:
    """A Service is reached inside the cluster only, and leads to pods that are ready."""
    if item["kind"] != "Service":
        return
    spec, remedy = at(item, "spec"), "remove it: write it as in deploy/base/assistant"
    if (spec.get("type") or "ClusterIP") not in ("ClusterIP", "ExternalName"):
        yield fault("service", item, f"its type is {spec['type']}", remedy)
    for field in ("externalIPs", "publishNotReadyAddresses"):
        if spec.get(field):
            yield fault("service", item, f"spec.{field} is set", remedy)


def secure_pod(item: Manifest) -> Iterator[Finding]:
    """Every pod is as restricted as it can be, and none gets an API token."""
    pod = pod_of(item)
    if not pod:
        return
    for weakness in [*weaknesses(pod), *privileges(pod)]:
        yield fault("pod", item, weakness, "write it as in deploy/base/assistant")
    account = pod.get("serviceAccountName", "default")
    if account != "default" or pod.get("automountServiceAccountToken"):
        remedy = "remove serviceAccountName and set automountServiceAccountToken: false"
        yield fault("account", item, f"it runs as service account {account}", remedy)


def at_home(namespace: str) -> Rule:
    """A rule: objects stay in `namespace`."""

    def rule(item: Manifest) -> Iterator[Finding]:
        found = item["metadata"].get("namespace")
        if found != namespace:
            what = f"its namespace is {found or 'not set'}"
            yield fault("namespace", item, what, f"set it to {namespace}")

    return rule


def own_subjects(objects: Sequence[Manifest]) -> Rule:
    """A rule: rights are given only to service accounts that the same overlay makes."""
    accounts = {
        (item["metadata"].get("namespace"), item["metadata"]["name"])
        for item in objects
        if item["kind"] == "ServiceAccount"
    }

    def rule(item: Manifest) -> Iterator[Finding]:
        for subject in (item.get("subjects") or []) if item["kind"] in SUBJECTS else []:
            who = (subject.get("namespace"), subject.get("name"))
            if subject.get("kind") != "ServiceAccount" or who not in accounts:
                what = f"it gives rights to {subject.get('kind')} {who[0] or '-'}/{who[1]}"
                remedy = "name a service account of this overlay, with its namespace"
                yield fault("subject", item, what, remedy)

    return rule


def pod_of(item: Manifest) -> dict[str, Any]:
    """The pod's `spec` in a workload; empty for other objects."""
    if item["kind"] not in WORKLOADS:
        return {}
    return at(item, "spec", "template", "spec")


def at(item: Manifest, *path: str) -> dict[str, Any]:
    """The map at `path`; empty where there is none."""
    here: Any = item
    for key in path:
        here = here.get(key) if isinstance(here, dict) else None
    return here if isinstance(here, dict) else {}


def fault(code: str, item: Manifest, what: str, remedy: str) -> Finding:
    """A finding about this object."""
    return Finding(code, f"{item['kind']} {item['metadata']['name']}", what, remedy)
