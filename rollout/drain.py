"""Ask the gateways of the losing lane to let their connections go. Best effort, bounded."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from rollout.cluster import Api, core
from rollout.errors import RolloutError
from rollout.names import Names

TIMEOUT_S = 2.0


def drain(api: Api, names: Names, lane: str) -> int:
    """POST /drain to each gateway pod of `lane` through the pod proxy; how many agreed.

    For 30 s they answer `Connection: close`. One that does not answer keeps
    its idle connections for at most 10 s anyway, so nothing waits for it.
    """
    try:
        found = api.items(core(names.lanes, "pods"), f"app={names.app},lane={lane}")
        return sum(api.together([partial(_ask, api, names, pod) for pod in found]))
    except RolloutError:
        return 0


def proxy(names: Names, pod: str, path: str) -> str:
    """The path of a gateway pod's admin port, through the API server."""
    return core(names.lanes, "pods", f"{pod}:{names.admin_port}") + f"/proxy{path}"


def _ask(api: Api, names: Names, pod: dict[str, dict[str, str]]) -> bool:
    with suppress(RolloutError):
        api.call("POST", proxy(names, pod["metadata"]["name"], "/drain"), TIMEOUT_S)
        return True
    return False
