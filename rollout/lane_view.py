"""What a lane's Deployments and pods say: which release, which sizes, what is wrong. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from rollout.cluster import Object
from rollout.marks import epoch, release
from rollout.observation import Lane, Part


def view(lane: str, deployments: Iterable[Object], pods: Iterable[Object]) -> Lane:
    """One lane from the API server's lists."""
    mine = [one for one in deployments if label(one, "lane") == lane]
    here = [pod for pod in pods if label(pod, "lane") == lane]
    releases = {release(one) for one in mine}
    return Lane(
        release=releases.pop() if len(releases) == 1 else None,
        parts={label(one, "app"): _part(one) for one in mine},
        restarts=sum(_restarts(pod) for pod in here),
        trouble=next((line for line in map(_trouble, here) if line), ""),
    )


def _part(one: Object) -> Part:
    spec, status = one["spec"], one.get("status", {})
    wanted = spec.get("replicas", 1)
    ready = status.get("readyReplicas", 0)
    settled = (
        status.get("observedGeneration", 0) >= one["metadata"]["generation"]
        and status.get("updatedReplicas", 0) == wanted == status.get("replicas", 0) == ready
    )
    return Part(wanted, ready, settled, epoch(one))


def _restarts(pod: Object) -> int:
    return sum(c.get("restartCount", 0) for c in pod.get("status", {}).get("containerStatuses", []))


def _trouble(pod: Object) -> str:
    """Why a pod is not Ready, from its containers or its scheduling."""
    name, status = pod["metadata"]["name"], pod.get("status", {})
    for container in status.get("containerStatuses", []):
        waiting = container.get("state", {}).get("waiting", {})
        ended = container.get("lastState", {}).get("terminated", {})
        reason = waiting.get("reason") or (container["restartCount"] and ended.get("reason"))
        if reason and reason not in ("ContainerCreating", "PodInitializing"):
            detail = waiting.get("message") or f"exit code {ended.get('exitCode', '?')}"
            return f"{name}: {container['name']}: {reason}: {' '.join(detail.split())[:160]}"
    for condition in status.get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] != "True":
            return f"{name}: {' '.join(condition.get('message', 'not scheduled').split())[:160]}"
    return ""


def label(one: Object, name: str) -> str:
    """A label of an object; empty without it."""
    return str((one["metadata"].get("labels") or {}).get(name, ""))
