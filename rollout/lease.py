"""One Lease says who writes. It avoids double work; what keeps writers apart is the epoch."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from rollout.cluster import Api, group
from rollout.errors import Conflict
from rollout.names import Names

API = "coordination.k8s.io/v1"
DURATION_S = 6.0
RENEW_S = 2.0


class Lease:
    """The Lease as seen by the process `identity` (`POD_UNIQUE`).

    A holder is given up for dead when its record has not changed for the
    duration by *this* process's clock, or at once when it was an earlier
    process of the same pod.
    """

    def __init__(self, api: Api, names: Names, identity: str) -> None:
        self._api, self._names, self._identity = api, names, identity
        self._seen: tuple[str, float] = ("", 0.0)
        self._renewed = 0.0

    def hold(self) -> bool:
        """Take or keep the Lease; whether this process holds it."""
        now = time.monotonic()
        if self._renewed and now - self._renewed < RENEW_S:
            return True
        try:
            held = self._take(now)
        except Conflict:
            held = False
        self._renewed = now if held else 0.0
        return held

    def release(self) -> None:
        """Let go, so that the next process need not wait."""
        found = self._api.get(self._path())
        if found is not None and found["spec"].get("holderIdentity") == self._identity:
            found["spec"]["holderIdentity"] = ""
            self._api.replace(self._path(), found)
        self._renewed = 0.0

    def _take(self, now: float) -> bool:
        found = self._api.get(self._path())
        if found is None:
            self._api.create(group(API, self._names.control, "leases"), self._body({}))
            return True
        if not self._free(found, now):
            return False
        self._api.replace(self._path(), self._body(found))
        return True

    def _free(self, found: dict[str, Any], now: float) -> bool:
        holder = found["spec"].get("holderIdentity") or ""
        if not holder or holder == self._identity or _pod(holder) == _pod(self._identity):
            return True
        version = found["metadata"]["resourceVersion"]
        if self._seen[0] != version:
            self._seen = (version, now)
        return now - self._seen[1] > DURATION_S

    def _path(self) -> str:
        return group(API, self._names.control, "leases", self._names.lease)

    def _body(self, found: dict[str, Any]) -> dict[str, Any]:
        metadata = {"name": self._names.lease, "namespace": self._names.control}
        if found:
            metadata["resourceVersion"] = found["metadata"]["resourceVersion"]
        spec = {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": int(DURATION_S),
            "renewTime": datetime.now(UTC).isoformat(timespec="microseconds"),
        }
        spec["renewTime"] = str(spec["renewTime"]).replace("+00:00", "Z")
        return {"apiVersion": API, "kind": "Lease", "metadata": metadata, "spec": spec}


def _pod(identity: str) -> str:
    return identity.rpartition("_")[0]
