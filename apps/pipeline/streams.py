"""Many answers from one engine thread: each gets one step in turn, none waits for another's end."""

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

log = logging.getLogger("pipeline")


class Piece(Protocol):
    """What the engine gives at each step; `finish` is "" until the last piece."""

    @property
    def text(self) -> str: ...
    @property
    def token(self) -> int: ...
    @property
    def finish(self) -> str: ...


class Listener(Protocol):
    """Where the pieces of one stream go; called by the engine's thread only."""

    def stopped(self) -> bool:
        """Whether nobody waits for more."""

    def piece(self, piece: Piece) -> None:
        """Take one piece; the last has a `finish`."""

    def failed(self, reason: str) -> None:
        """Take the end of a stream that cannot go on."""


@dataclass(frozen=True)
class Job:
    """A stream that somebody asked for. `open` starts it, in the engine's thread."""

    open: Callable[[], Iterator[Piece]]
    listener: Listener


class Streams:
    """Round robin over at most `running` streams, with at most `waiting` more in a queue."""

    def __init__(self, running: int, waiting: int) -> None:
        self._limits = (running, waiting)
        self._queue: deque[Job] = deque()
        self._active: deque[tuple[Iterator[Piece], Listener]] = deque()
        self._changed = threading.Condition()
        self._open = True

    def submit(self, job: Job) -> bool:
        """Enqueue and return at once; False when the queue is full or closed."""
        with self._changed:
            if not self._open or len(self._queue) >= sum(self._limits):
                return False
            self._queue.append(job)
            self._changed.notify()
        return True

    def close(self) -> None:
        """Make `run` fail what is left and return."""
        with self._changed:
            self._open = False
            self._changed.notify()

    def run(self) -> None:
        """Serve until closed. Call it in the thread that owns the engine."""
        while self._wait():
            self._admit()
            for _ in range(len(self._active)):
                self._step(*self._active.popleft())
        for listener in [job.listener for job in self._queue] + [one for _, one in self._active]:
            _fail(listener, RuntimeError("the server stops"))

    def _wait(self) -> bool:
        with self._changed:
            while self._open and not self._queue and not self._active:
                self._changed.wait()
            return self._open

    def _admit(self) -> None:
        while self._queue and len(self._active) < self._limits[0]:
            job = self._queue.popleft()
            try:
                self._active.append((job.open(), job.listener))
            except Exception as error:
                _fail(job.listener, error)

    def _step(self, pieces: Iterator[Piece], listener: Listener) -> None:
        try:
            piece = next(pieces)
            listener.piece(piece)
        except Exception as error:
            _fail(listener, error)
            return
        if not piece.finish:
            self._active.append((pieces, listener))


def _fail(listener: Listener, error: Exception) -> None:
    log.error("answer: %s: %s", type(error).__name__, error)
    try:
        listener.failed(f"the model cannot answer ({type(error).__name__})")
    except Exception as second:  # the one engine thread outlives any client
        log.error("answer: %s: %s", type(second).__name__, second)
