"""`make bench-undo`: how long after `rollout undo` starts the losing lane is still met.

Ten undos in the middle of a split and ten after a promotion, under 50
requests/s, beside a client that looked up once and a lookup client that asks
every replica of the split DNS. For each: command start to the last answer that
names the losing lane, and to the last connection opened on it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.bench.lanes import both_up
from tests.demo import clients, release, verdict
from tests.demo.fleet import Fleet, kubectl

ROUNDS = 10
WATCH_S = 4.0
SETTLE_S = 3.0
ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    both_up()
    fleet = Fleet("bench-undo", orders())
    fleet.start()
    took: list[float] = []
    command: list[float] = []
    try:
        time.sleep(SETTLE_S)
        for round_ in range(2 * ROUNDS):
            mid_split = round_ < ROUNDS
            seconds, own = one_undo(fleet, mid_split)
            took.append(seconds)
            command.append(own)
            kind = "mid-split" if mid_split else "promoted"
            print(f"undo {round_ + 1:>2} ({kind}): {seconds:.3f} s, command {own:.3f} s",
                  file=sys.stderr)  # fmt: skip
    finally:
        fleet.stop()
    bad = verdict.failed(fleet.seen)
    for row in bad[:5]:
        print(f"failed: {json.dumps(row, ensure_ascii=False)[:300]}", file=sys.stderr)
    figures = {
        "p50_s": round(verdict.percentile(took, 0.5), 3),
        "p99_s": round(verdict.percentile(took, 0.99), 3),
        "failed_requests": len(bad),
        "requests": len([row for row in fleet.seen if "http" in row]),
        "cli_p50_s": round(verdict.percentile(command, 0.5), 3),
    }
    print(json.dumps({"name": "undo", "figures": figures}))


def orders() -> dict[str, Any]:
    told = clients.orders(seconds=900)
    balance = next(spec for spec in told["clients"] if spec["name"] == "fresh")
    replicas = kubectl("-n", "switchyard-dns", "get", "pods", "-l", "app=split-dns",
                       "-o", "jsonpath={.items[*].status.podIP}").split()  # fmt: skip
    told["clients"] = [
        {**balance, "name": "fresh", "rate": 40},
        {**balance, "name": "pinned", "kind": "pinned", "rate": 10},
        {"name": "replicas", "kind": "lookup", "rate": 25, "servers": replicas},
    ]
    return told


def one_undo(fleet: Fleet, mid_split: bool) -> tuple[float, float]:
    """(seconds to the last sign of the losing lane, seconds the command took)."""
    if mid_split:
        release.rollout("split", "50")
        loser = release.status()["candidate"]
        addresses = {service_address(f"assistant-c{loser['number']}")}
    else:
        release.rollout("promote")
        loser = release.status()["serving"]
        addresses = set()
    time.sleep(SETTLE_S)
    began = time.time()
    subprocess.run([sys.executable, "-m", "rollout", "undo"], cwd=ROOT, check=True,
                   capture_output=True, timeout=30)  # fmt: skip
    own = time.time() - began
    time.sleep(WATCH_S)
    rows = [row for row in fleet.seen if row["t0"] > began - 1]
    connected = verdict.last_new_connection(rows, loser["lane"], began)
    answered = [row["t0"] - began for row in rows if row.get("address") in addresses
                and row.get("server") and row["t0"] > began]  # fmt: skip
    return max([connected, *answered]), own


def service_address(name: str) -> str:
    return kubectl("-n", "switchyard", "get", "service", name,
                   "-o", "jsonpath={.spec.clusterIP}").strip()  # fmt: skip


if __name__ == "__main__":
    main()
