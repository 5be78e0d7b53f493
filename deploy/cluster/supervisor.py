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
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from deploy.cluster import cgroups, components, mounts, processes
from deploy.cluster.components import Component
from deploy.cluster.processes import Process
from deploy.cluster.topology import Cluster, cluster

FIRST_DELAY_S = 0.2
LONGEST_DELAY_S = 10.0
HEALTHY_AFTER_S = 30.0
LOG_BYTES = 32 * 1024 * 1024

_CHECK_EVERY_S = 0.5
_WAITING_CHECK_S = 0.05


@dataclass
class Record:
    """What is known of one component's process; kept in `run/pids/NAME.json`."""

    process: Process
    stamp: str
    turn: int
    restarts: int


def read_records(run: Path) -> dict[str, Record]:
    """Records by component name; a half-written or foreign file counts as none."""
    found = {}
    for path in sorted((run / "pids").glob("*.json")):
        with suppress(ValueError, KeyError, TypeError, FileNotFoundError):
            fields = json.loads(path.read_text())
            found[path.stem] = Record(**{**fields, "process": Process(**fields["process"])})
    return found


def delay(failures: int) -> float:
    """Seconds to wait before the start that follows `failures` quick ends in a row."""
    return min(FIRST_DELAY_S * 2**failures, LONGEST_DELAY_S) if failures else 0.0


def reachable(need: str) -> bool:
    """Whether `tcp:ADDRESS:PORT` or `unix:PATH` accepts a connection now."""
    kind, _, place = need.partition(":")
    family = socket.AF_UNIX if kind == "unix" else socket.AF_INET
    address, _, port = place.rpartition(":")
    with socket.socket(family) as probe:
        probe.settimeout(1)
        try:
            probe.connect(place if kind == "unix" else (address, int(port)))
        except OSError:
            return False
    return True


class Keeper:
    """One component and its process, if it has one."""

    def __init__(self, wanted: Component, of: Cluster, record: Record | None) -> None:
        self.wanted = wanted
        self._run, self._log = of.run, of.logs / f"{wanted.name}.log"
        self._record = record
        self._failures = 0
        self._started = time.monotonic()
        self._not_before = 0.0
        self.descriptor = processes.watch(record.process) if record else None

    @property
    def waiting(self) -> bool:
        return self.descriptor is None

    def want(self, wanted: Component) -> None:
        """Take a new wish; a process that does not answer it is ended."""
        self.wanted = wanted
        record = self._record
        if record and (record.stamp, record.turn) != (wanted.stamp, wanted.turn):
            self.stop()
            self._failures, self._not_before = 0, 0.0

    def stop(self) -> None:
        if self._record and self.descriptor is not None:
            processes.end(self._record.process, self.wanted.grace)
            self._close()

    def ended(self) -> None:
        """Note an end nobody asked for, and set when to try again."""
        self._close()
        now = time.monotonic()
        self._failures = 0 if now - self._started > HEALTHY_AFTER_S else self._failures + 1
        self._not_before = now + delay(self._failures)

    def start_if_due(self) -> None:
        if not self.waiting or time.monotonic() < self._not_before:
            return
        if not all(map(reachable, self.wanted.needs)):
            return
        with self._log.open("ab") as log:
            child = subprocess.Popen(
                self.wanted.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/"
            )
        self._started = time.monotonic()
        process = processes.identify(child.pid)
        if process is None:
            self.ended()
            return
        restarts = self._record.restarts + 1 if self._record else 0
        self._record = Record(process, self.wanted.stamp, self.wanted.turn, restarts)
        self._write()
        self.descriptor = processes.watch(process)
        if self.descriptor is None:
            self.ended()

    def bound_log(self) -> None:
        """Move a log that has grown too long aside; the process keeps its open file."""
        if self._log.exists() and self._log.stat().st_size > LOG_BYTES:
            shutil.copyfile(self._log, self._log.with_suffix(".log.1"))
            os.truncate(self._log, 0)

    def forget(self) -> None:
        self.stop()
        (self._run / "pids" / f"{self.wanted.name}.json").unlink(missing_ok=True)

    def _close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
        reap()

    def _write(self) -> None:
        path = self._run / "pids" / f"{self.wanted.name}.json"
        temporary = path.with_suffix(".new")
        temporary.write_text(json.dumps(asdict(self._record)) if self._record else "")
        temporary.replace(path)


def reap() -> None:
    """Collect ended children; adopted ones are another process's."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


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
    (of.run / "supervisor.json").write_text(json.dumps(asdict(itself)))
    supervise(of)


if __name__ == "__main__":
    main()
