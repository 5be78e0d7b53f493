"""Keeps the cluster's processes as the file `run/components.json` wants them.

Started once per cluster inside its network namespace and a mount namespace of
its own. It reads the file again whenever it changes: a component that is new,
whose stamp or turn differs, or that has ended, is (re)started; one that is no
longer named is stopped. When it is itself killed, its children live on; the
next supervisor finds their records in `run/pids` and adopts them.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from dataclasses import asdict

from deploy.cluster import cgroups, components, files, mounts, processes
from deploy.cluster.components import Component
from deploy.cluster.keeper import Keeper
from deploy.cluster.records import read_records
from deploy.cluster.topology import Cluster, cluster

_CHECK_EVERY_S = 0.5
_WAITING_CHECK_S = 0.05


def supervise(of: Cluster) -> None:
    """The loop; never returns."""
    wish = of.run / "components.json"
    keepers: dict[str, Keeper] = {}
    seen = 0
    while True:
        changed = wish.stat().st_mtime_ns
        if changed != seen:
            seen = changed
            _take_wish(of, components.loads(wish.read_text()), keepers)
        for keeper in keepers.values():
            keeper.start_if_due()
            keeper.bound_log()
        watched = {k.descriptor: k for k in keepers.values() if k.descriptor is not None}
        pause = _WAITING_CHECK_S if len(watched) < len(keepers) else _CHECK_EVERY_S
        for descriptor in select.select(list(watched), [], [], pause)[0]:
            watched[descriptor].ended()


def _take_wish(of: Cluster, wanted: list[Component], keepers: dict[str, Keeper]) -> None:
    for name in set(keepers) - {item.name for item in wanted}:
        keepers.pop(name).forget()
    records = read_records(of.run)
    for item in wanted:
        if item.name not in keepers:
            keepers[item.name] = Keeper(item, of, records.get(item.name))
        keepers[item.name].want(item)


def main() -> None:
    of = cluster()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    cgroups.enter(of.name)
    mounts.make_private(of)
    (of.run / "pids").mkdir(exist_ok=True)
    itself = processes.identify(os.getpid())
    if itself is None:
        sys.exit("supervisor: /proc does not show this process; is /proc mounted?")
    files.write(of.run / "supervisor.json", json.dumps(asdict(itself)))
    supervise(of)


if __name__ == "__main__":
    main()
