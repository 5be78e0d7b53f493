"""What keeps a pod from being as restricted as every workload here must be.

The level `restricted` of the Pod Security Standards, and what we ask beyond it:
a read-only root, a numeric user, requests, a memory limit, and no API token
that nobody asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Spec = dict[str, Any]

VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim"}
VOLUMES |= {"projected", "secret"}
PROJECTED = {"configMap", "downwardAPI", "secret"}
RANK = ("priorityClassName", "priority")
PLACE = ("affinity", "nodeName", "nodeSelector", "runtimeClassName", "schedulerName", "tolerations")
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")


def weaknesses(pod: Spec, *, probes: bool = True) -> Iterator[str]:
    """One phrase for each thing to mend in a pod's `spec`; `probes`: whether it runs on."""
    yield from _pod(pod)
    yield from _volumes(pod)
    for container in pod.get("initContainers") or []:
        yield from _container(container, pod)
    for container in pod.get("containers") or []:
        yield from _container(container, pod)
        if probes:
            for probe in PROBES:
                if probe not in container:
                    yield f"container {container.get('name')} has no {probe}"


def privileges(pod: Spec) -> Iterator[str]:
    """One phrase for each thing that a platform's pod may ask for, but no candidate's."""
    for field in RANK:
        if field in pod:
            yield f"{field} is set: it could evict the pods of the other lane"
    for field in PLACE:
        if field in pod:
            yield f"{field} is set: it could keep the pods of the other lane from a node"
    if "serviceAccount" in pod:
        yield "serviceAccount is set: it is another name for serviceAccountName"


def _pod(pod: Spec) -> Iterator[str]:
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(field):
            yield f"{field} is set"
    if pod.get("automountServiceAccountToken") is None:
        yield "automountServiceAccountToken is not set"
    if pod.get("automountServiceAccountToken") and not pod.get("serviceAccountName"):
        yield "an API token is mounted but no serviceAccountName is set"
    if pod.get("enableServiceLinks") is not False:
        yield "enableServiceLinks is not false: other Services would become its environment"


def _volumes(pod: Spec) -> Iterator[str]:
    for volume in pod.get("volumes") or []:
        name, kinds = volume.get("name"), set(volume) - {"name"}
        if kinds - VOLUMES:
            yield f"volume {name} is of a kind that a restricted pod may not have"
        if "emptyDir" in volume and "sizeLimit" not in (volume["emptyDir"] or {}):
            yield f"emptyDir {name} has no sizeLimit"
        for source in (volume.get("projected") or {}).get("sources") or []:
            for kind in sorted(set(source) - PROJECTED):
                yield f"volume {name} projects a {kind}"


def _container(container: Spec, pod: Spec) -> Iterator[str]:
    name = container.get("name")
    own, shared = container.get("securityContext") or {}, pod.get("securityContext") or {}

    def setting(field: str) -> Any:
        return own.get(field, shared.get(field))

    if own.get("privileged"):
        yield f"container {name} is privileged"
    if setting("runAsNonRoot") is not True or not setting("runAsUser"):
        yield f"container {name} does not run as a numbered user other than root"
    if (setting("seccompProfile") or {}).get("type") not in ("RuntimeDefault", "Localhost"):
        yield f"container {name} has no seccomp profile"
    if own.get("allowPrivilegeEscalation") is not False:
        yield f"container {name} may escalate its privileges"
    if own.get("readOnlyRootFilesystem") is not True:
        yield f"container {name} may write to its root"
    capabilities = own.get("capabilities") or {}
    if "ALL" not in (capabilities.get("drop") or []):
        yield f"container {name} does not drop ALL capabilities"
    if set(capabilities.get("add") or []) - {"NET_BIND_SERVICE"}:
        yield f"container {name} adds capabilities"
    for port in container.get("ports") or []:
        if port.get("hostPort"):
            yield f"container {name} takes a port of the node"
    yield from _resources(container)


def _resources(container: Spec) -> Iterator[str]:
    resources, name = container.get("resources") or {}, container.get("name")
    for kind in ("cpu", "memory"):
        if kind not in (resources.get("requests") or {}):
            yield f"container {name} requests no {kind}"
    if "memory" not in (resources.get("limits") or {}):
        yield f"container {name} has no memory limit"
