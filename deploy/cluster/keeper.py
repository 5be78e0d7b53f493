"""Keeps one component running: starts it when it may, notes its end, waits before the next try."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from contextlib import suppress

from deploy.cluster import processes
from deploy.cluster.components import Component
from deploy.cluster.records import Record, drop_record, write_record
from deploy.cluster.topology import Cluster

FIRST_DELAY_S = 0.2
LONGEST_DELAY_S = 10.0
HEALTHY_AFTER_S = 30.0
LOG_BYTES = 32 * 1024 * 1024


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
        write_record(self._run, self.wanted.name, self._record)
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
        drop_record(self._run, self.wanted.name)

    def _close(self) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None
        reap()


def reap() -> None:
    """Collect ended children; adopted ones are another process's."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
