"""A lane's Deployments: what runs there, their replicas, and the fence around them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

from rollout.cluster import Api, Object, apps, core
from rollout.errors import Conflict, Refused, Superseded
from rollout.lane_view import label, view
from rollout.names import EPOCH, LANES, Names
from rollout.observation import Lane
from rollout.services import guarded


def reads(api: Api, names: Names) -> list[Callable[[], list[Object]]]:
    """The calls whose answers `observed` takes."""
    selector = f"lane in ({','.join(LANES)})"
    return [
        partial(api.items, apps(names.lanes), selector),
        partial(api.items, core(names.lanes, "pods"), selector),
        partial(api.items, core(names.lanes, "services")),
    ]


def observed(
    names: Names, deployments: list[Object], pods: list[Object], services: list[Object]
) -> dict[str, Lane]:
    """Both production lanes."""
    there = {one["metadata"]["name"] for one in services}
    return {
        lane: replace(view(lane, deployments, pods), entrance=names.entrance(lane) in there)
        for lane in LANES
    }


def observe(api: Api, names: Names) -> dict[str, Lane]:
    """Both production lanes, as they are."""
    return observed(names, *api.together(reads(api, names)))


def scale(api: Api, namespace: str, lane: str, replicas: dict[str, int], mine: int) -> None:
    """Set replicas by part; parts that the lane does not have are left out."""
    calls = []
    for one in api.items(apps(namespace), f"lane={lane}"):
        part = label(one, "app")
        if part in replicas:
            operations = guarded(one, {EPOCH: str(mine)})
            operations.append({"op": "add", "path": "/spec/replicas", "value": replicas[part]})
            calls.append(partial(api.patch, apps(namespace, one["metadata"]["name"]), operations))
    _patch(api, calls)


def replicas(api: Api, namespace: str, lane: str) -> dict[str, int]:
    """Replicas by part, as they are wanted now."""
    found = api.items(apps(namespace), f"lane={lane}")
    return {label(one, "app"): one["spec"].get("replicas", 1) for one in found}


def fence_calls(
    namespace: str, api: Api, deployments: Iterable[Object], mine: int
) -> list[Callable[[], Object]]:
    """Calls that stamp Deployments with an epoch: then nobody late can scale or replace them."""
    return [
        partial(
            api.patch,
            apps(namespace, one["metadata"]["name"]),
            guarded(one, {EPOCH: str(mine)}),
        )
        for one in deployments
    ]


def address(api: Api, namespace: str, service: str) -> str | None:
    """`http://IP:PORT` of a Service, which needs no DNS; None if there is none."""
    found = api.get(core(namespace, "services", service))
    if found is None:
        return None
    ip = found["spec"]["clusterIP"]
    host = f"[{ip}]" if ":" in ip else ip
    return f"http://{host}:{found['spec']['ports'][0]['port']}"


def _patch(api: Api, calls: list[partial[Object]]) -> None:
    try:
        api.together(calls)
    except (Refused, Conflict) as error:
        raise Superseded(f"another writer was first: {error}") from None
