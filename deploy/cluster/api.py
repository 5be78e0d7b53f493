"""The few questions that bringing a cluster up asks its API server."""

from __future__ import annotations

import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from deploy.cluster.errors import ClusterError
from deploy.cluster.topology import Cluster

_REQUEST_S = 5.0
_POLL_S = 0.1


class Api:
    """A client with the admin's token."""

    def __init__(self, cluster: Cluster) -> None:
        config = json.loads(cluster.kubeconfig.read_text())
        self._url = cluster.api_url
        self._token = config["users"][0]["user"]["token"]
        self._context = ssl.create_default_context(cafile=str(cluster.credentials / "ca.crt"))
        # Never through a proxy that the environment names.
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self._context)
        )

    def get(self, path: str) -> bytes | None:
        """Body of a successful GET; None for any failure."""
        request = urllib.request.Request(  # noqa: S310 (the scheme is fixed)
            self._url + path, headers={"Authorization": f"Bearer {self._token}"}
        )
        try:
            with self._opener.open(request, timeout=_REQUEST_S) as response:
                body: bytes = response.read()
                return body
        except (urllib.error.URLError, OSError):
            return None

    def ready(self) -> bool:
        return self.get("/readyz") is not None

    def node_ready(self, name: str, since: float) -> bool:
        """Whether the kubelet that started at `since` (seconds since the epoch) says Ready."""
        body = self.get(f"/api/v1/nodes/{name}")
        return body is not None and node_is_ready(json.loads(body), since)


def node_is_ready(node: dict[str, Any], since: float) -> bool:
    """Whether a Node object was Ready at `since` or later, and nothing keeps pods from it.

    A kubelet that starts again finds the Ready of the one before it in the object, and
    takes it back with its own first report.
    """
    conditions = node.get("status", {}).get("conditions", [])
    ready = any(
        c["type"] == "Ready" and c["status"] == "True" and _seconds(c) >= int(since)
        for c in conditions
    )
    return ready and not node.get("spec", {}).get("taints")


def _seconds(condition: dict[str, Any]) -> float:
    """When the condition was last reported, in whole seconds since the epoch."""
    return datetime.fromisoformat(condition["lastHeartbeatTime"]).timestamp()


def wait(question: Callable[[], bool], what: str, log: Path | str, seconds: float = 120) -> None:
    """Ask until the answer is yes. Raises ClusterError that names `log` after `seconds`."""
    limit = time.monotonic() + seconds
    while not question():
        if time.monotonic() > limit:
            raise ClusterError(f"{what} after {seconds:.0f} s; read {log}")
        time.sleep(_POLL_S)
