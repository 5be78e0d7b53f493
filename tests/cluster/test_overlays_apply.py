"""Every overlay is accepted by the API server, and applying it again moves nothing."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import dns.message
import dns.query
import pytest
import urllib3

from deploy.corefile import LOCAL_ADDRESS, ZONE
from rollout.cluster import core
from rollout.render import render
from tests.cluster import overlay_cluster as cluster
from tests.tree import OVERLAYS

CLUSTER_DNS = "10.203.64.10"
# Only the local component names a volume and an address that this cluster fixed for good.
FIXED = {
    ("StatefulSet", "postgres"),
    ("Service", "split-dns"),
    ("Job", "migrate"),
    ("Job", "loader"),
}
SPLIT = ("s2", "s3")
SHARE = 0.12
CLIENT = "assistant-c0"


def manager(overlay: str) -> str:
    return "rollout-lane" if "/" in overlay or overlay == "staging" else "platform"


def dry_run(overlay: str) -> list[dict[str, Any]]:
    """The objects as they would be after applying the overlay."""
    objects = render(cluster.ROOT, f"deploy/overlays/{overlay}")
    if overlay in ("platform", "migrate", "load"):
        objects = [o for o in objects if (o["kind"], o["metadata"]["name"]) not in FIXED]
    stream = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    words = (
        "apply",
        "--server-side",
        f"--field-manager={manager(overlay)}",
        "-f",
        "-",
        "-o",
        "json",
    )
    text = cluster.ask(*words, "--dry-run=server", stdin=stream) if objects else '{"items": []}'
    found = json.loads(text)
    return found.get("items", [found] if "kind" in found else [])


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_api_server_accepts_every_overlay(overlay):
    assert dry_run(overlay) or overlay in ("migrate", "load")


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_applying_an_overlay_leaves_every_size_and_selector_as_it_is(overlay):
    for item in dry_run(overlay):
        metadata = item["metadata"]
        if item["kind"] not in ("Deployment", "Service", "StatefulSet"):
            continue
        (live,) = [
            found
            for found in cluster.get(item["kind"], metadata["namespace"])
            if found["metadata"]["name"] == metadata["name"]
        ] or [item]
        for field in ("replicas", "selector", "externalName", "clusterIP"):
            assert item["spec"].get(field) == live["spec"].get(field), metadata["name"]


def test_a_second_apply_changes_no_workload_and_is_quick():
    def generations() -> dict[str, Any]:
        spaces = ("switchyard", "switchyard-data", "switchyard-dns", "switchyard-rollout")
        return {
            f"{item['metadata']['namespace']}/{item['metadata']['name']}": (
                item["metadata"]["generation"]
            )
            for space in spaces
            for item in cluster.get("deployments,statefulsets", space)
        }

    before, began = generations(), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "deploy.apply"],
        cwd=cluster.ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 30
    assert generations() == before
    assert "Everything is Ready" in done.stdout


class Traffic:
    """A client that looks the name up for every request, and counts who answered."""

    def __init__(self, stable: str, candidate: str) -> None:
        self.by_address: Counter[str] = Counter()
        self.failures: list[str] = []
        self.addresses = {stable, candidate}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Traffic:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        pool = urllib3.PoolManager(retries=False, timeout=5.0)
        while not self._stop.wait(0.01):
            try:
                address = lookup()
                answer = pool.request("GET", f"http://{address}/", headers={"Connection": "close"})
                self.by_address[address] += 1
                if answer.status != 200:
                    self.failures.append(f"{address}: {answer.status}")
            except Exception as bad:
                self.failures.append(f"{type(bad).__name__}: {bad}")


def lookup(server: str = CLUSTER_DNS) -> str:
    """The one address of the split name, as this lookup draws it."""
    answer = dns.query.udp(dns.message.make_query(f"{ZONE}.", "A"), server, timeout=5)
    (address,) = [item.to_text() for rrset in answer.answer if rrset.rdtype == 1 for item in rrset]
    return str(address)


@pytest.fixture
def split():
    """A split of 12 % between stable and a client Service that selects the same lane."""
    with cluster.held_still() as api:
        stable = api.get(core(cluster.NAMES.lanes, "services", cluster.NAMES.stable))
        before = cluster.slots(api)
        body = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": CLIENT, "namespace": cluster.NAMES.lanes},
            "spec": {key: stable["spec"][key] for key in ("selector", "ports")},
        }
        candidate = api.create(core(cluster.NAMES.lanes, "services"), body)
        try:
            for slot in SPLIT:
                cluster.point(api, slot, CLIENT)
            yield api, stable["spec"]["clusterIP"], candidate["spec"]["clusterIP"]
        finally:
            for slot, host in before.items():
                cluster.point(api, slot, host.split(".")[0])
            api.delete(core(cluster.NAMES.lanes, "services", CLIENT))


def _moving_parts() -> dict[str, Any]:
    """Selectors of the roles, names in the slots, sizes of the serving lane, and its pods."""
    lanes = cluster.NAMES.lanes
    roles = {
        item["metadata"]["name"]: item["spec"]["selector"]
        for item in cluster.get("services", lanes)
        if item["metadata"]["name"].startswith("assistant-")
    }
    chosen = ("-l", f"lane={roles[cluster.NAMES.stable]['lane']}")
    slots = cluster.get("services", cluster.NAMES.slots)
    sizes = cluster.get("deployments", lanes, *chosen)
    return {
        "roles": roles,
        "slots": {item["metadata"]["name"]: item["spec"]["externalName"] for item in slots},
        "sizes": {item["metadata"]["name"]: item["spec"]["replicas"] for item in sizes},
        "pods": sorted(item["metadata"]["uid"] for item in cluster.get("pods", lanes, *chosen)),
    }


def test_applying_every_overlay_during_a_split_moves_no_traffic(split):
    _, stable, candidate = split
    before = _moving_parts()
    serving = before["roles"][cluster.NAMES.stable]["lane"]
    with Traffic(stable, candidate) as traffic:
        cluster.ask(*_apply("local"))
        for overlay in (f"canary/{serving}", f"prod/{serving}"):
            if _same_templates(overlay):
                cluster.ask(*_apply(overlay))
        for overlay in OVERLAYS:
            dry_run(overlay)
        time.sleep(5)
    assert _moving_parts() == before
    assert traffic.failures == []
    assert set(traffic.by_address) <= {stable, candidate}
    assert traffic.by_address[candidate] > 0


def test_a_split_is_drawn_anew_for_each_lookup(split):
    _, stable, candidate = split
    drawn = Counter(lookup() for _ in range(2000))
    assert set(drawn) == {stable, candidate}
    assert drawn[candidate] / 2000 == pytest.approx(SHARE, abs=0.03)


def test_every_dns_replica_answers_a_moved_slot_within_a_second(split):
    api, _, candidate = split
    replicas = [pod["status"]["podIP"] for pod in cluster.get("pods", "switchyard-dns")]
    assert len(replicas) == 2
    for slot in cluster.slots(api):
        cluster.point(api, slot, CLIENT)
    time.sleep(1)
    assert {lookup(server) for server in replicas for _ in range(50)} == {candidate}


@pytest.mark.parametrize("server", [CLUSTER_DNS, LOCAL_ADDRESS])
def test_other_questions_get_sane_answers(server):
    def rcode(name: str, kind: str) -> tuple[str, int]:
        answer = dns.query.udp(dns.message.make_query(name, kind), server, timeout=5)
        addresses = [rrset for rrset in answer.answer if rrset.rdtype in (1, 28)]
        return dns.rcode.to_text(answer.rcode()), len(addresses)

    assert rcode(f"{ZONE}.", "AAAA") == ("NOERROR", 0)
    assert rcode(f"{ZONE.upper()}.", "A") == ("NOERROR", 1)
    assert rcode(f"more.{ZONE}.", "A") == ("NXDOMAIN", 0)
    assert rcode("kubernetes.default.svc.cluster.local.", "A") == ("NOERROR", 1)


def _apply(overlay: str) -> tuple[str, ...]:
    path = str(Path(cluster.ROOT, "deploy/overlays", overlay))
    # A lane's own manager also wrote the controller's marks: an admin's hand is another.
    hand = manager(overlay) if overlay == "local" else "admin"
    return ("apply", "--server-side", f"--field-manager={hand}", "-k", path)


def _same_templates(overlay: str) -> bool:
    """Whether applying would restart no pod: what runs is what this tree says."""
    live = {d["metadata"]["name"]: d for d in cluster.get("deployments", cluster.NAMES.lanes)}
    return all(
        live[item["metadata"]["name"]]["spec"]["template"] == item["spec"]["template"]
        for item in dry_run(overlay)
        if item["kind"] == "Deployment"
    )
