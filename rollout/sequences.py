"""The one order in which traffic moves: selectors, their endpoints (to open a step), slots.

Opening a step, promoting and undoing differ only in what is wanted and in
whether the EndpointSlices are waited for: an undo and a promotion go to pods
that already answer, so they wait for nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from rollout.cluster import Api, Object, core, group
from rollout.errors import ApiUnavailable, Conflict, Refused, Superseded
from rollout.names import MANAGER, ROLE, Names
from rollout.services import Change, Services, read_roles, read_slots, role_changes, slot_changes
from rollout.wanted import Wanted

ENDPOINTS_S = 10.0
POLL_S = 0.02
NEW_ADDRESS_S = 3.0


@dataclass(frozen=True, slots=True)
class Moved:
    """How many Services were written, and when (monotonic seconds) each part was done."""

    roles: int
    slots: int
    roles_at: float
    slots_at: float


def read(api: Api, names: Names) -> Services:
    """The Services as they are. Slots first, because roles move first.

    So a slot that has moved is never seen beside its role of before.
    """
    slots = read_slots(api, names)
    return Services(read_roles(api, names), slots)


def shift(
    api: Api,
    names: Names,
    found: Services,
    target: Wanted,
    epoch: int,
    *,
    settle: bool,
    beside: Sequence[Callable[[], Object]] = (),
) -> Moved:
    """Write what differs from `target`. Raises Superseded if this process is late.

    `beside`: more calls, made at the same time as the selectors' patches.
    """
    roles = role_changes(names, found, target, epoch)
    slots = slot_changes(names, found, target, epoch)
    _write(api, roles, beside)
    roles_at = time.monotonic()
    if settle:
        for change in roles:
            await_endpoints(api, names, change.body["metadata"]["name"], target)
        # A connection begun before its node's proxy knows the new address is lost for good:
        # all its repeats go untranslated. No API says when a proxy knows it.
        if slots and any(change.operations is None for change in roles):
            time.sleep(NEW_ADDRESS_S)
    _write(api, slots)
    return Moved(len(roles), len(slots), roles_at, time.monotonic())


def await_endpoints(api: Api, names: Names, service: str, target: Wanted) -> None:
    """Until the Service's EndpointSlices hold Ready pods of its lane and no others."""
    pods = core(names.lanes, "pods")
    selector = f"app={names.app},lane={target.roles[service]}"
    deadline = time.monotonic() + ENDPOINTS_S
    while time.monotonic() < deadline:
        wanted = {pod["metadata"]["name"] for pod in api.items(pods, selector)}
        ready = _ready(api, names, service)
        if ready and ready <= wanted:
            return
        time.sleep(POLL_S)
    raise ApiUnavailable(
        f"the EndpointSlices of {service} did not follow within {ENDPOINTS_S:.0f} s: "
        "see the controller manager's log"
    )


def _ready(api: Api, names: Names, service: str) -> set[str]:
    path = group("discovery.k8s.io/v1", names.lanes, "endpointslices")
    slices = api.items(path, f"kubernetes.io/service-name={service}")
    endpoints = (endpoint for one in slices for endpoint in one.get("endpoints") or [])
    return {
        (endpoint.get("targetRef") or {}).get("name", "")
        for endpoint in endpoints
        if endpoint.get("conditions", {}).get("ready", True)
    }


def _write(api: Api, changes: list[Change], beside: Sequence[Callable[[], Object]] = ()) -> None:
    calls: list[Callable[[], Object]] = [*beside]
    for change in changes:
        if change.operations is None:
            # By apply, which carries a name: a right to POST cannot be given for seven names.
            calls.append(partial(api.apply, change.path, change.body, MANAGER))
        else:
            calls.append(partial(api.patch, change.path, change.operations))
    try:
        api.together(calls)
    except (Refused, Conflict) as error:
        raise Superseded(f"another writer was first: {error}") from None


def prune(api: Api, names: Names, services: tuple[str, ...]) -> None:
    """Delete client Services that nobody names any more."""
    for service in services:
        found = api.get(core(names.lanes, "services", service))
        if found is not None and found["metadata"].get("labels", {}).get(ROLE) == "candidate":
            api.delete(core(names.lanes, "services", service))
