"""`make bench-split`: how near the share of lookups comes to the share that was set.

10,000 lookups at each of 1, 12, 50 and 99 % through the cluster's DNS, from a
pod, each a query of its own with a random message id.
"""

from __future__ import annotations

import json
import sys
import time

from tests.bench.lanes import both_up
from tests.demo import release
from tests.demo.clients import HOST
from tests.demo.fleet import Fleet, kubectl

SHARES = (1, 12, 50, 99)
LOOKUPS = 10_000
RATE = 500
SETTLE_S = 1.5


def main() -> None:
    both_up()
    dns = kubectl("-n", "kube-system", "get", "service", "kube-dns",
                  "-o", "jsonpath={.spec.clusterIP}").strip()  # fmt: skip
    figures: dict[str, float] = {}
    try:
        for share in SHARES:
            figures[f"measured_{share}"] = measure(share, dns)
    finally:
        release.rollout("undo")
    errors = [abs(figures[f"measured_{share}"] - share) for share in SHARES]
    figures["max_error_points"] = round(max(errors), 2)
    print(json.dumps({"name": "split", "figures": figures}))


def measure(share: int, dns: str) -> float:
    """Percent of lookups that got the candidate's address while `share` was set."""
    release.rollout("split", str(share))
    time.sleep(SETTLE_S)
    candidate = candidate_address()
    spec = {"name": "lookups", "kind": "lookup", "rate": RATE, "servers": [dns]}
    orders = {"host": HOST, "port": 80, "seconds": LOOKUPS / RATE + 5, "clients": [spec]}
    fleet = Fleet("bench-split", orders)
    fleet.start()
    try:
        while len(answers := [row for row in fleet.seen if row.get("server")]) < LOOKUPS:
            time.sleep(0.5)
            if fleet.follower.poll() is not None:
                raise RuntimeError(f"the client pod ended after {len(answers)} lookups")
    finally:
        fleet.stop()
    hits: int = sum(row["address"] == candidate for row in answers[:LOOKUPS])
    print(f"wanted {share:>2} %: {100 * hits / LOOKUPS:.2f} % of {LOOKUPS} lookups",
          file=sys.stderr)  # fmt: skip
    return 100 * hits / LOOKUPS


def candidate_address() -> str:
    """The address of the client Service of the release that has the share."""
    number = release.status()["candidate"]["number"]
    return kubectl("-n", "switchyard", "get", "service", f"assistant-c{number}",
                   "-o", "jsonpath={.spec.clusterIP}").strip()  # fmt: skip


if __name__ == "__main__":
    main()
