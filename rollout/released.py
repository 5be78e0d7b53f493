"""Which release a lane's processes say they are: the variable RELEASE, beside LANE. Pure.

It is added when a release is applied and stands in no manifest: a record, its hash and what an
admin applies by hand know nothing of it, and no lane that serves is touched for its sake.
"""

from __future__ import annotations

from typing import Any

from rollout.manifests import Manifest

VARIABLE = "RELEASE"
_BESIDE = "LANE"


def released(deployment: Manifest, release: str) -> Manifest:
    """The Deployment with RELEASE for each container that is told its LANE."""
    spec = deployment["spec"]
    pod = spec["template"]["spec"]
    containers = [_told(one, release) for one in pod["containers"]]
    template = {**spec["template"], "spec": {**pod, "containers": containers}}
    return {**deployment, "spec": {**spec, "template": template}}


def release_of(deployment: Manifest) -> str:
    """What its containers are told; empty where none is."""
    pod = deployment.get("spec", {}).get("template", {}).get("spec", {})
    told = (
        str(variable.get("value", ""))
        for container in pod.get("containers", [])
        for variable in container.get("env") or []
        if variable["name"] == VARIABLE
    )
    return next(told, "")


def _told(container: dict[str, Any], release: str) -> dict[str, Any]:
    variables = container.get("env") or []
    if all(one["name"] != _BESIDE for one in variables):
        return container
    others = [one for one in variables if one["name"] != VARIABLE]
    return {**container, "env": [*others, {"name": VARIABLE, "value": release}]}
