"""The lanes before the controller has them, and what is said about them afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from deploy import waits
from deploy.cluster.steps import step
from deploy.errors import ApplyError
from deploy.kubectl import Kubectl
from rollout.names import EPOCH, RELEASE
from rollout.released import release_of, released
from rollout.render import Manifest

ROOT = Path(__file__).parent.parent
NAMESPACE = "switchyard"
ROLE = "assistant-stable"
MANAGER = "rollout-lane"
FIRST = "blue"


def serving_lane(kubectl: Kubectl) -> str | None:
    """The lane that `assistant-stable` selects; None before the controller has made it."""
    service = kubectl.get("service", ROLE, NAMESPACE)
    return str(service["spec"]["selector"]["lane"]) if service else None


def stale(kubectl: Kubectl, parts: list[Manifest]) -> list[str]:
    """The Deployments among `parts` (a lane of this tree) that run other images than it says."""
    live = {item["metadata"]["name"]: item for item in kubectl.list("deployments", NAMESPACE)}
    return [
        item["metadata"]["name"]
        for item in parts
        if item["kind"] == "Deployment"
        and _images(item) != _images(live.get(item["metadata"]["name"], {}))
    ]


def advice(lane: str, names: list[str]) -> str:
    """What to do about a serving lane that is not what this tree says."""
    return (
        f"Lane {lane} runs other images than images/images.lock ({', '.join(names)}): push a "
        f"signed commit to release them (for development: python -m deploy.apply --lane {lane})"
    )


def apply(kubectl: Kubectl, parts: list[Manifest]) -> None:
    """Apply a lane as the controller would, and wait for its pods."""
    with step("apply the lane"):
        kubectl.apply(marked(kubectl, parts), MANAGER)
    waits.ready(kubectl, waits.workloads(parts))


def marked(kubectl: Kubectl, parts: list[Manifest]) -> list[Manifest]:
    """`parts` with the controller's marks of the running Deployments, and with what it told
    their containers.

    The same manager wrote the marks; an apply without them would take them away.
    """
    live = {item["metadata"]["name"]: item for item in kubectl.list("deployments", NAMESPACE)}
    found = []
    for item in parts:
        metadata = item["metadata"]
        running = live.get(metadata["name"], {})
        present = running.get("metadata", {}).get("annotations", {})
        marks = {key: present[key] for key in (RELEASE, EPOCH) if key in present}
        if item["kind"] == "Deployment" and marks:
            annotations = {**metadata.get("annotations", {}), **marks}
            item = {**item, "metadata": {**metadata, "annotations": annotations}}
        told = release_of(running)
        found.append(released(item, told) if item["kind"] == "Deployment" and told else item)
    return found


def init(kubeconfig: str) -> None:
    """Hand the lanes over to the controller: journal, slots and roles."""
    command = [sys.executable, "-m", "rollout", "init", "--lane", FIRST]
    with step("rollout init"):
        done = subprocess.run(
            [*command, "--overlay", f"deploy/overlays/prod/{FIRST}"],
            cwd=ROOT,
            env={**os.environ, "KUBECONFIG": kubeconfig},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        if done.returncode != 0:
            said = " ".join((done.stderr or done.stdout).split())[-400:]
            raise ApplyError(f"rollout init: {said}")


def _images(deployment: Manifest) -> list[str]:
    pod = deployment.get("spec", {}).get("template", {}).get("spec", {})
    return [container["image"] for container in pod.get("containers", [])]
