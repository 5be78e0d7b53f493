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
WORKLOADS = ("Deployment", "StatefulSet", "DaemonSet")


def ready(
    kubectl: Kubectl, workloads: Iterable[Manifest], within_s: float = READY_WITHIN_S
) -> None:
    """Wait for each workload in turn, with a line and a time each.

    Raises ApplyError naming the first that is not Ready in time, its reason,
    and the command that shows more.
    """
    until = time.monotonic() + within_s
    for workload in wished:
        kind, metadata = workload["kind"].lower(), workload["metadata"]
        namespace, name = metadata["namespace"], metadata["name"]
        with step(f"ready: {namespace}/{name}"):
            left = max(1.0, until - time.monotonic())
            words = ("rollout", "status", f"{kind}/{name}", "-n", namespace)
            try:
                kubectl.run(*words, f"--timeout={left:.0f}s", timeout_s=left + 10, request_s=0)
            except ApplyError as late:
                raise ApplyError(_explain(kubectl, workload, str(late))) from late


def workloads(manifests: Iterable[Manifest]) -> list[Manifest]:
    """Those of the manifests that run pods and stay."""
    return [item for item in manifests if item["kind"] in WORKLOADS]


def _explain(kubectl: Kubectl, workload: Manifest, otherwise: str) -> str:
    namespace, name = workload["metadata"]["namespace"], workload["metadata"]["name"]
    labels = workload["spec"]["selector"]["matchLabels"]
    selector = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
    pods = kubectl.list("pods", namespace, selector)
    reason = next(filter(None, map(trouble, pods)), otherwise if pods else "no pod was made")
    look = f"kubectl -n {namespace} describe pods -l {selector}"
    logs = f"kubectl -n {namespace} logs -l {selector} --all-containers --tail 50"
    return f"{namespace}/{name} is not Ready: {reason}: look at `{look}` and `{logs}`"


def trouble(pod: Manifest) -> str:
    """Why a pod is not Ready, in a few words; empty if it is."""
    status: dict[str, Any] = pod.get("status", {})
    for kind in ("initContainerStatuses", "containerStatuses"):
        for container in status.get(kind, []):
            found = _state(container)
            if found:
                return f"{container['name']}: {found}"
    for condition in status.get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] != "True":
            return f"not scheduled: {condition.get('message', condition.get('reason', ''))}"
    return ""


def _state(container: dict[str, Any]) -> str:
    state, last = container.get("state", {}), container.get("lastState", {})
    waiting = state.get("waiting", {})
    ended = state.get("terminated") or last.get("terminated")
    if ended and ended.get("exitCode"):
        return f"ended with exit status {ended['exitCode']} ({ended.get('reason', 'Error')})"
    if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
        return f"{waiting['reason']} {waiting.get('message', '')}".strip()
    if state.get("running") and not container.get("ready"):
        return "runs, but its probe does not pass yet"
    return ""
