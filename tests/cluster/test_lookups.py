"""Lookups of a client pod while other pods come and go: none may be lost on the node."""

from __future__ import annotations

import time
from typing import Any

import yaml

from tests.demo.clients import HOST
from tests.demo.fleet import NAMESPACE, Fleet, kubectl

ORDERS = {
    "host": HOST,
    "port": 80,
    "seconds": 30,
    "clients": [{"name": "lookup", "kind": "lookup", "rate": 60.0, "query": "", "token": ""}],
}


def passer_by(fleet: Fleet) -> dict[str, Any]:
    """A pod that policies select and that does nothing."""
    pod = fleet.objects()[1]
    pod["metadata"]["name"] = "passer-by"
    container = pod["spec"]["containers"][0]
    container["command"] = ["python3", "-c", "import time; time.sleep(60)"]
    del container["volumeMounts"], pod["spec"]["volumes"]
    return pod


def test_no_lookup_is_lost_while_pods_start_and_end() -> None:
    fleet = Fleet("lookups", ORDERS)
    body = yaml.safe_dump(passer_by(fleet))
    fleet.start()
    try:
        end = time.monotonic() + ORDERS["seconds"] - 4
        while time.monotonic() < end:
            kubectl("apply", "-f", "-", text=body)
            kubectl("-n", NAMESPACE, "wait", "--for=condition=Ready", "pod/passer-by",
                    "--timeout=30s")  # fmt: skip
            kubectl("-n", NAMESPACE, "delete", "pod", "passer-by", "--grace-period=1")
        time.sleep(5)
    finally:
        fleet.stop()
    assert len(fleet.seen) > 1000
    assert [row for row in fleet.seen if row.get("repeated_lookup") or not row.get("ok")] == []
