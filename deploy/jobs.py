"""The Jobs of an installation: each is run again only when its template or its inputs changed."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping

from deploy.errors import ApplyError
from deploy.kubectl import Kubectl
from deploy.waits import trouble
from rollout.render import Manifest

STAMP = "switchyard/inputs"
DONE_WITHIN_S = 180.0
LOADED_WITHIN_S = 900.0
"""Embedding takes seconds a file, and more where others use the CPUs."""
PAUSE_S = 0.5


def stamped(job: Manifest, inputs: Mapping[str, str]) -> Manifest:
    """`job` with an annotation that changes with its template and with what it reads."""
    text = json.dumps([job["spec"], dict(inputs)], sort_keys=True)
    stamp = hashlib.sha256(text.encode()).hexdigest()[:16]
    return {**job, "metadata": {**job["metadata"], "annotations": {STAMP: stamp}}}


def is_done(job: Manifest | None, wished: Manifest) -> bool:
    """Whether the Job in the cluster is this one and has succeeded."""
    if job is None or not job.get("status", {}).get("succeeded"):
        return False
    stamps = [item["metadata"].get("annotations", {}).get(STAMP) for item in (job, wished)]
    return bool(stamps[0] == stamps[1])


def run(kubectl: Kubectl, wished: Manifest, manager: str, within_s: float = DONE_WITHIN_S) -> bool:
    """Run the Job unless it is done already. Returns whether it ran.

    Raises ApplyError when it fails or takes too long.
    """
    namespace, name = wished["metadata"]["namespace"], wished["metadata"]["name"]
    if is_done(kubectl.get("job", name, namespace), wished):
        return False
    words = ("delete", "job", name, "-n", namespace, "--ignore-not-found", "--wait")
    kubectl.run(*words, "--cascade=foreground", timeout_s=90, request_s=0)
    kubectl.apply([wished], manager)
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        job = kubectl.get("job", name, namespace) or {}
        status = job.get("status", {})
        if status.get("succeeded"):
            return True
        if any(item["type"] == "Failed" for item in status.get("conditions", [])):
            break
        time.sleep(PAUSE_S)
    raise ApplyError(_why(kubectl, namespace, name))


def _why(kubectl: Kubectl, namespace: str, name: str) -> str:
    pods = kubectl.list("pods", namespace, f"job-name={name}")
    reason = next(filter(None, map(trouble, pods)), "it does not end")
    return f"Job {namespace}/{name}: {reason}: look at `kubectl -n {namespace} logs job/{name}`"
