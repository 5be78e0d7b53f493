"""Wait until workloads are Ready; when one is not, say which and where to look."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from deploy.cluster.steps import step
from deploy.errors import ApplyError
from deploy.kubectl import Kubectl
from rollout.render import Manifest

READY_WITHIN_S = 240.0
LOOK_EVERY_S = 10.0
WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")
# A part may end once or twice while its neighbours come up.
RESTARTS_MAX = 3
HOPELESS = {"ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName"}
HOPELESS |= {"CreateContainerConfigError", "CreateContainerError"}


def ready(kubectl: Kubectl, wished: Iterable[Manifest], within_s: float = READY_WITHIN_S) -> None:
    """Wait for each workload in turn, with a line and a time each.

    Raises ApplyError naming the first that is not Ready in time or never will
    be, its reason, and the command that shows more.
    """
    until = time.monotonic() + within_s
    for workload in wished:
        metadata = workload["metadata"]
        with step(f"ready: {metadata['namespace']}/{metadata['name']}"):
            _one(kubectl, workload, until)


def workloads(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Those of the manifests that run pods and stay."""
    return [item for item in manifests if item["kind"] in WORKLOADS]


def trouble(pod: Manifest) -> str:
    """Why a pod is not Ready, in a few words; empty if it is."""
    status: dict[str, Any] = pod.get("status", {})
    for container in _containers(status):
        found = _state(container)
        if found:
            return f"{container['name']}: {found}"
    for condition in status.get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] != "True":
            return f"not scheduled: {condition.get('message', condition.get('reason', ''))}"
    return ""


def hopeless(pod: Manifest) -> bool:
    """Whether waiting longer cannot help: no such image or setting, or it ends each time."""
    return any(
        container.get("restartCount", 0) >= RESTARTS_MAX
        or container.get("state", {}).get("waiting", {}).get("reason") in HOPELESS
        for container in _containers(pod.get("status", {}))
        if not container.get("ready")
    )


def _one(kubectl: Kubectl, workload: Manifest, until: float) -> None:
    kind, metadata = workload["kind"].lower(), workload["metadata"]
    words = ("rollout", "status", f"{kind}/{metadata['name']}", "-n", metadata["namespace"])
    while True:
        left = min(LOOK_EVERY_S, max(1.0, until - time.monotonic()))
        try:
            kubectl.run(*words, f"--timeout={left:.0f}s", timeout_s=left + 20, request_s=0)
            return
        except ApplyError as late:
            pods = kubectl.list("pods", metadata["namespace"], _selector(workload))
            pods = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
            if time.monotonic() >= until or any(map(hopeless, pods)):
                raise ApplyError(_explain(workload, pods, str(late))) from late


def _explain(workload: Manifest, pods: list[Manifest], otherwise: str) -> str:
    namespace, name = workload["metadata"]["namespace"], workload["metadata"]["name"]
    reason = next(filter(None, map(trouble, pods)), otherwise if pods else "no pod was made")
    look = f"kubectl -n {namespace} describe pods -l {_selector(workload)}"
    logs = f"kubectl -n {namespace} logs -l {_selector(workload)} --all-containers --tail 50"
    return f"{namespace}/{name} is not Ready: {reason}: look at `{look}` and `{logs}`"


def _selector(workload: Manifest) -> str:
    labels = workload["spec"]["selector"]["matchLabels"]
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _containers(status: dict[str, Any]) -> list[dict[str, Any]]:
    return [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]


def _state(container: dict[str, Any]) -> str:
    if container.get("ready"):
        return ""
    state, last = container.get("state", {}), container.get("lastState", {})
    waiting = state.get("waiting", {})
    ended = state.get("terminated") or last.get("terminated")
    if ended and ended.get("exitCode"):
        return f"ended with exit status {ended['exitCode']} ({ended.get('reason', 'Error')})"
    if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
        return f"{waiting['reason']} {waiting.get('message', '')}".strip()
    if "running" in state:
        return "runs, but its probe does not pass yet"
    return ""
