"""The running installation, asked as an admin would, and held still while a test moves it."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deploy.cluster.topology import cluster
from rollout import access, journal
from rollout.cluster import Api, Object, core, group
from rollout.lease import API, RENEW_S, Lease
from rollout.names import Names
from rollout.render import kubectl
from tests.client_pod import client_pod

ROOT = Path(__file__).parents[2]
KUBECONFIG = os.environ.get("KUBECONFIG") or str(cluster().kubeconfig)
NAMES = Names()
CONTROLLER = "system:serviceaccount:switchyard-rollout:rollout"


def run(*words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """kubectl as it ends, on the local cluster or the one of $KUBECONFIG."""
    return subprocess.run(
        [kubectl(), f"--kubeconfig={KUBECONFIG}", *words],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def ask(*words: str, stdin: str | None = None) -> str:
    """kubectl's standard output; the test fails with its reason if it fails."""
    done = run(*words, stdin=stdin)
    assert done.returncode == 0, done.stderr
    return done.stdout


def get(kind: str, namespace: str, *words: str) -> list[dict[str, Any]]:
    """All objects of a kind in a namespace."""
    return json.loads(ask("get", kind, "-n", namespace, "-o", "json", *words))["items"]


def as_controller(
    *objects: dict[str, Any], manager: str = "rollout"
) -> subprocess.CompletedProcess[str]:
    """Try to apply objects with the controller's rights, without changing anything."""
    stream = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    words = ("apply", "--server-side", "--force-conflicts", f"--field-manager={manager}", "-f", "-")
    return try_as_controller(*words, stdin=stream)


def try_as_controller(*words: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    """A kubectl command with the controller's rights, without changing anything."""
    return run(*words, "--dry-run=server", f"--as={CONTROLLER}", stdin=stdin)


@contextmanager
def client(namespace: str, script: str = "import time; time.sleep(600)") -> Iterator[str]:
    """A restricted pod that runs a Python script; its name. Gone afterwards."""
    name = f"client-{secrets.token_hex(3)}"
    pod = client_pod(name, ["python3", "-c", script], namespace=namespace, app="client")
    ask("apply", "-f", "-", stdin=json.dumps(pod))
    try:
        ask("wait", f"pod/{name}", "-n", namespace, "--for=condition=Ready", "--timeout=60s")
        yield name
    finally:
        run("delete", "pod", name, "-n", namespace, "--now", "--wait=false")


@contextmanager
def held_still() -> Iterator[Api]:
    """The installation while this process has the controller's Lease: nobody else moves traffic."""
    api = Api(access.from_kubeconfig(Path(KUBECONFIG)))
    state, _ = journal.read(api, NAMES)
    assert state.candidate is None, f"release {state.candidate} is under way: wait for it"
    identity, ended = f"overlay-tests_{uuid.uuid4()}", threading.Event()
    lease, path = Lease(api, NAMES, identity), group(API, NAMES.control, "leases", NAMES.lease)
    found = api.get(path)
    if found is not None:
        # Taken, not asked for: the controller would not give it up by itself.
        found["spec"]["holderIdentity"] = identity
        api.replace(path, found)
    assert lease.hold()
    # The controller sees that it lost the Lease when it renews, not before.
    time.sleep(RENEW_S + 1)
    keeper = threading.Thread(target=_keep, args=(lease, ended), daemon=True)
    keeper.start()
    try:
        yield api
    finally:
        ended.set()
        keeper.join()
        lease.release()


def slots(api: Api) -> dict[str, str]:
    """What each slot names now."""
    found = api.items(core(NAMES.slots, "services"))
    return {item["metadata"]["name"]: item["spec"]["externalName"] for item in found}


def point(api: Api, slot: str, service: str) -> None:
    """Point one slot at a role Service, as the controller does."""
    change: Object = {"op": "replace", "path": "/spec/externalName", "value": NAMES.host(service)}
    api.patch(core(NAMES.slots, "services", slot), [change])


def _keep(lease: Lease, ended: threading.Event) -> None:
    while not ended.wait(1.0):
        assert lease.hold()
