"""Work that takes longer than one turn of the loop: threads, their progress and results."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from rollout.errors import ApiUnavailable, Conflict, RolloutError, Superseded, line
from rollout.git import GitError
from rollout.observation import Job, JobKind
from rollout.secrets import NoSecret
from rollout.trust import PolicyError

log = logging.getLogger("rollout")


TRANSIENT = (ApiUnavailable, Conflict, Superseded, GitError, NoSecret, PolicyError)
"""Not the commit's fault: the job starts again, and nothing is rejected for it."""
AGAIN_S = 2.0
MAX_WHY = 2000
"""Bytes of a job's result, which goes into the journal and the record."""


class Cancelled(RolloutError):
    """The release that the job was for is over."""


@dataclass
class Handle:
    """A running job's way to report, and to learn that nobody waits for it any more."""

    progress: Callable[[str], None]
    cancelled: threading.Event = field(default_factory=threading.Event)

    def say(self, said: str) -> None:
        """Report progress. Raises Cancelled if the job is to stop."""
        if self.cancelled.is_set():
            raise Cancelled("no longer wanted")
        self.progress(said)


Work = Callable[[Handle], Job]


class Jobs:
    """The jobs of this process, at most one of a kind and release."""

    def __init__(self, woken: Callable[[], None]) -> None:
        self._woken = woken
        self._lock = threading.Lock()
        self._jobs: dict[tuple[JobKind, int], Job] = {}
        self._handles: dict[tuple[JobKind, int], Handle] = {}

    def start(self, kind: JobKind, number: int, work: Work) -> None:
        """Start a job; one that is known already is left alone."""
        key = (kind, number)
        with self._lock:
            if key in self._jobs:
                return
            self._jobs[key] = Job(kind, number)
            handle = Handle(lambda said: self._report(key, said))
            self._handles[key] = handle
        name = f"{kind}-{number}"
        threading.Thread(target=self._run, args=(key, work, handle), name=name, daemon=True).start()

    def keep_only(self, number: int | None) -> None:
        """Cancel and forget the jobs of every release but this one."""
        with self._lock:
            for key in [key for key in self._jobs if key[1] != number]:
                self._handles.pop(key).cancelled.set()
                del self._jobs[key]

    def seen(self) -> tuple[Job, ...]:
        """All jobs as they are."""
        with self._lock:
            return tuple(self._jobs.values())

    def _run(self, key: tuple[JobKind, int], work: Work, handle: Handle) -> None:
        try:
            result = work(handle)
        except TRANSIENT as error:
            log.warning("%s of release %d: %s; trying again", key[0], key[1], error)
            self._report(key, f"{error}; trying again")
            handle.cancelled.wait(AGAIN_S)
            with self._lock:
                if self._handles.get(key) is handle:
                    del self._jobs[key], self._handles[key]
            self._woken()
            return
        except RolloutError as error:
            result = Job(*key, done=True, why=str(error))
        except Exception as error:  # a fault of ours must end in a verdict, not in a silent wait
            log.exception("%s of release %d", key[0], key[1])
            result = Job(*key, done=True, why=f"{type(error).__name__}: {error}")
        with self._lock:
            if self._handles.get(key) is handle:
                self._jobs[key] = replace(result, why=line(result.why, MAX_WHY))
        self._woken()

    def _report(self, key: tuple[JobKind, int], said: str) -> None:
        with self._lock:
            if key in self._jobs:
                self._jobs[key] = replace(self._jobs[key], why=line(said, MAX_WHY))
