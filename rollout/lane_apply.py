"""Apply a release to a lane without a share, by server-side apply. A late process is refused."""

from __future__ import annotations

import logging
import re
from functools import partial

from rollout import generated
from rollout.cluster import Api, Object, apps, core, group
from rollout.errors import Conflict, RolloutError, Superseded
from rollout.marks import epoch
from rollout.names import EPOCH, LANE_MANAGER, MANAGER, RELEASE
from rollout.released import released

APPLY_ATTEMPTS = 5
FORGOTTEN_AT_ONCE = 10
FIELD_CONFLICT = "Apply failed with"
_OWNERS = re.compile(r'conflicts? with "([^"]+)"')

log = logging.getLogger("rollout")

_PATHS = {
    ("v1", "ConfigMap"): ("api/v1", "configmaps"),
    ("v1", "Service"): ("api/v1", "services"),
    ("apps/v1", "Deployment"): ("apis/apps/v1", "deployments"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"): (
        "apis/autoscaling/v2",
        "horizontalpodautoscalers",
    ),
    ("policy/v1", "PodDisruptionBudget"): ("apis/policy/v1", "poddisruptionbudgets"),
}
"""All that a lane may consist of."""


class NotALanePart(RolloutError):
    """A manifest of a kind or namespace that the controller may not apply."""


def apply(
    api: Api, namespace: str, lane: str, manifests: list[Object], release: int, mine: int
) -> None:
    """Server-side apply a release to a lane that has no share; Deployments last.

    A late process is refused: a Deployment is applied only in the version that
    was seen with an epoch not newer than `mine`. Deployments of the lane that
    the release no longer has are deleted, and generated ConfigMaps that neither
    it nor the release before it needs: a record has its own.
    """
    for attempt in range(APPLY_ATTEMPTS):
        try:
            _apply_once(api, namespace, lane, manifests, release, mine)
            return
        except Conflict as error:
            # Also a change of status is one, so that a second look may well succeed.
            if attempt == APPLY_ATTEMPTS - 1:
                raise Superseded(f"another writer was first: {error}") from None


def _apply_once(
    api: Api, namespace: str, lane: str, manifests: list[Object], release: int, mine: int
) -> None:
    lists = [apps(namespace), core(namespace, "configmaps")]
    deployments, configs = api.together(
        [partial(api.items, path, f"lane={lane}") for path in lists]
    )
    found = {one["metadata"]["name"]: one for one in deployments}
    for one in found.values():
        if epoch(one) > mine:
            raise Superseded(f"{one['metadata']['name']} carries epoch {epoch(one)}")
    first = [one for one in manifests if one["kind"] != "Deployment"]
    stamped = [
        _stamp(one, release, mine, found.get(one["metadata"]["name"]))
        for one in manifests
        if one["kind"] == "Deployment"
    ]
    for objects in (first, stamped):
        api.together([partial(_apply_one, api, namespace, one) for one in objects])
    for name in found.keys() - {one["metadata"]["name"] for one in stamped}:
        api.delete(apps(namespace, name))
    _forget(api, namespace, generated.unneeded(configs, [*manifests, *deployments]))


def _forget(api: Api, namespace: str, configs: list[str]) -> None:
    """Delete a few ConfigMaps; what stays does no harm."""
    try:
        for name in configs[:FORGOTTEN_AT_ONCE]:
            api.delete(core(namespace, "configmaps", name))
    except RolloutError as error:
        log.warning("old ConfigMaps of %s stay: %s", namespace, error)


def _apply_one(api: Api, namespace: str, one: Object) -> Object:
    """Apply, and take fields over from an admin who applied a lane's overlay by hand.

    Such a co-owner would block every later release of the lane, which is the
    controller's. It is said in the log; our own managers are not worth a line.
    """
    path = _path(one, namespace)
    try:
        return api.apply(path, one, LANE_MANAGER)
    except Conflict as error:
        if FIELD_CONFLICT not in str(error):
            raise
        if set(_OWNERS.findall(str(error))) - {MANAGER, LANE_MANAGER, f"{LANE_MANAGER}-init"}:
            log.warning("taking over: %s", error)
        return api.apply(path, one, LANE_MANAGER, force=True)


def _stamp(manifest: Object, release: int, mine: int, found: Object | None) -> Object:
    metadata = dict(manifest["metadata"])
    marks = {RELEASE: str(release), EPOCH: str(mine)}
    metadata["annotations"] = {**(metadata.get("annotations") or {}), **marks}
    if found is not None:
        metadata["resourceVersion"] = found["metadata"]["resourceVersion"]
    return released({**manifest, "metadata": metadata}, str(release))


def _path(manifest: Object, namespace: str) -> str:
    kind, metadata = (manifest["apiVersion"], manifest["kind"]), manifest["metadata"]
    if kind not in _PATHS or metadata.get("namespace", namespace) != namespace:
        place = f"{manifest['kind']} {metadata.get('namespace', '')}/{metadata['name']}"
        raise NotALanePart(f"{place} is no part of a lane: move it to the platform overlay")
    prefix, plural = _PATHS[kind]
    if prefix == "api/v1":
        return core(namespace, plural, metadata["name"])
    return group(prefix.removeprefix("apis/"), namespace, plural, metadata["name"])
