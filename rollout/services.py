"""Roles and slots as Kubernetes Services: read them, and the patches that move them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from rollout.cluster import Api, Object, core
from rollout.errors import Superseded
from rollout.marks import annotation, epoch, release
from rollout.names import EPOCH, PREVIOUS_LANE, RELEASE, ROLE, Names
from rollout.observation import Role, Slot
from rollout.slots import WEIGHTS
from rollout.wanted import Wanted


@dataclass(frozen=True, slots=True)
class Services:
    """The role Services and the slots, by name, as the API server gave them."""

    roles: dict[str, Object]
    slots: dict[str, Object]

    def view(self, names: Names) -> tuple[dict[str, Role], dict[str, Slot]]:
        """What `decide` needs of them."""
        roles = {name: _role(body) for name, body in self.roles.items()}
        slots = {
            name: Slot(names.service_of(body["spec"].get("externalName", "")), epoch(body))
            for name, body in self.slots.items()
        }
        return roles, slots


@dataclass(frozen=True, slots=True)
class Change:
    """One write: a patch of an existing Service, or a new one (`operations` is None)."""

    path: str
    operations: list[Object] | None
    body: Object


def read_roles(api: Api, names: Names) -> dict[str, Object]:
    """The role Services by name: it takes the name and the label, whatever a commit may write."""
    found = _by_name(api.items(core(names.lanes, "services"), f"{ROLE}"))
    return {name: body for name, body in found.items() if _is_role(names, name)}


def read_slots(api: Api, names: Names) -> dict[str, Object]:
    """The slots by name. A label alone makes none, as with roles."""
    found = _by_name(api.items(core(names.slots, "services"), f"{ROLE}=slot"))
    ours = {f"{names.slot_prefix}{slot}" for slot in range(len(WEIGHTS))}
    return {name: body for name, body in found.items() if name in ours}


def role_changes(names: Names, found: Services, target: Wanted, mine: int) -> list[Change]:
    """What must be written so that each role selects its lane and carries the epoch `mine`."""
    changes = []
    for name, lane in target.roles.items():
        wish = role_body(names, name, lane, mine, target)
        have = found.roles.get(name)
        if have is None or not _like(have, wish, "selector"):
            changes.append(_change(core(names.lanes, "services", name), have, wish, "selector"))
    return changes


def slot_changes(names: Names, found: Services, target: Wanted, mine: int) -> list[Change]:
    """What must be written so that each slot names its role and carries the epoch `mine`."""
    changes = []
    for name, role in target.slots.items():
        wish = slot_body(names, name, role, mine)
        have = found.slots.get(name)
        if have is None or not _like(have, wish, "externalName"):
            changes.append(_change(core(names.slots, "services", name), have, wish, "externalName"))
    return changes


def guarded(have: Object, annotations: dict[str, str]) -> list[Object]:
    """Operations that refuse a late writer and leave `annotations` (with the new epoch).

    Raises Superseded if the object is already newer than that.
    """
    mine, metadata = int(annotations[EPOCH]), have["metadata"]
    if epoch(have) > mine:
        raise Superseded(f"{metadata['name']} carries epoch {epoch(have)}, newer than {mine}")
    present = metadata.get("annotations")
    if present and EPOCH in present:
        test = {"op": "test", "path": _pointer(EPOCH), "value": present[EPOCH]}
    else:
        version = metadata["resourceVersion"]
        test = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
    operations: list[Object] = [test]
    if present is None:
        operations.append({"op": "add", "path": "/metadata/annotations", "value": {}})
    for key, value in annotations.items():
        operations.append({"op": "add", "path": _pointer(key), "value": value})
    return operations


def role_body(names: Names, name: str, lane: str, mine: int, target: Wanted) -> Object:
    """A role Service: a ClusterIP that selects one lane."""
    annotations = {EPOCH: str(mine)}
    kind = "candidate"
    if name == names.stable:
        kind = "stable"
        annotations |= {RELEASE: str(target.release), PREVIOUS_LANE: target.previous_lane}
    spec = {
        "selector": {"app": names.app, "lane": lane},
        "ports": [{"name": "http", "port": names.port, "targetPort": names.target_port}],
    }
    return _service(name, names.lanes, kind, annotations, spec)


def slot_body(names: Names, name: str, role: str, mine: int) -> Object:
    """A slot: an ExternalName that names a role."""
    spec = {"type": "ExternalName", "externalName": names.host(role)}
    return _service(name, names.slots, "slot", {EPOCH: str(mine)}, spec)


def _service(
    name: str, namespace: str, kind: str, annotations: dict[str, str], spec: dict[str, Any]
) -> Object:
    metadata = {
        "name": name,
        "namespace": namespace,
        "labels": {ROLE: kind},
        "annotations": annotations,
    }
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}


def _change(path: str, have: Object | None, wish: Object, field: str) -> Change:
    if have is None:
        return Change(path, None, wish)
    # What was decided from one version is written to that version: a write since then, also
    # one of the same epoch, is looked at first.
    version = have["metadata"]["resourceVersion"]
    seen = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
    operations = [seen, *guarded(have, wish["metadata"]["annotations"])]
    if have["spec"].get(field) != wish["spec"][field]:
        operations.append({"op": "add", "path": f"/spec/{field}", "value": wish["spec"][field]})
    return Change(path, operations, wish)


def _like(have: Object, wish: Object, field: str) -> bool:
    present = have["metadata"].get("annotations") or {}
    same = all(present.get(key) == value for key, value in wish["metadata"]["annotations"].items())
    return same and have["spec"].get(field) == wish["spec"][field]


def _role(body: Object) -> Role:
    lane = (body["spec"].get("selector") or {}).get("lane", "")
    return Role(lane, epoch(body), release(body), annotation(body, PREVIOUS_LANE))


def _is_role(names: Names, service: str) -> bool:
    return service == names.stable or names.candidate_number(service) is not None


def _pointer(annotation: str) -> str:
    return f"/metadata/annotations/{annotation.replace('~', '~0').replace('/', '~1')}"


def _by_name(bodies: Iterable[Object]) -> dict[str, Object]:
    return {body["metadata"]["name"]: body for body in bodies}
