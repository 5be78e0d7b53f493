"""Ask the gateways of the losing lane to let their connections go. Best effort, bounded."""

from __future__ import annotations

import http.client
from contextlib import suppress
from functools import partial

from rollout.cluster import Api, Object, core
from rollout.errors import RolloutError
from rollout.names import Names

TIMEOUT_S = 2.0


def drain(api: Api, names: Names, lane: str, *, direct: bool) -> int:
    """POST /drain to each gateway pod of `lane`; how many agreed.

    For 30 s they answer `Connection: close`. One that does not answer keeps
    its idle connections for at most 10 s anyway, so nothing waits for it.
    `direct`: by the pod's address, from inside the cluster; a terminal goes
    through the API server's pod proxy instead.
    """
    try:
        found = api.items(core(names.lanes, "pods"), f"app={names.app},lane={lane}")
    except RolloutError:
        return 0
    ask = _directly if direct else partial(_by_proxy, api)
    return sum(api.together([partial(ask, names, pod) for pod in found]))


def _by_proxy(api: Api, names: Names, pod: Object) -> bool:
    name = f"{pod['metadata']['name']}:{names.admin_port}"
    with suppress(RolloutError):
        api.call("POST", core(names.lanes, "pods", name) + "/proxy/drain", TIMEOUT_S)
        return True
    return False


def _directly(names: Names, pod: Object) -> bool:
    connection = http.client.HTTPConnection(
        pod.get("status", {}).get("podIP", ""), names.admin_port, timeout=TIMEOUT_S
    )
    try:
        connection.request("POST", "/drain")
        return connection.getresponse().status < 300
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
