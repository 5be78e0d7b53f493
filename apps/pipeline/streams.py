"""Many answers on their way from the engine's thread to their clients, carried by one thread.

The engine computes the next step while this thread sends; a client that takes nothing
fills its own stream's queue, and the engine goes on with the others.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Protocol

from apps.engine import EngineError, Piece, Stream
from observability.probes.request import begin

log = logging.getLogger("pipeline")

# How often those are asked whether they still wait who have heard nothing meanwhile.
LOOK_EVERY_S = 0.2


class Client(Protocol):
    """Where the pieces of one stream go; called by the carrying thread only."""

    def stopped(self) -> bool:
        """Whether nobody waits for more."""

    def piece(self, piece: Piece) -> None:
        """Take one piece; the last has a `finish`."""

    def failed(self, reason: str) -> None:
        """Take the end of a stream that cannot go on."""


@dataclass(frozen=True)
class Job:
    """A stream that the request of this name asked for. `open` starts it; the engine then
    calls what it is given whenever the stream has something."""

    request: str
    open: Callable[[Callable[[Stream], None]], Stream]
    client: Client


class Streams:
    """Opens streams and carries their pieces until it is closed."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Job | Stream | None] = SimpleQueue()
        self._clients: dict[Stream, Client] = {}

    def submit(self, job: Job) -> None:
        """Enqueue and return at once."""
        self._queue.put(job)

    def close(self) -> None:
        """Make `run` fail what is left and return."""
        self._queue.put(None)

    def run(self) -> None:
        """Carry until closed."""
        look = time.monotonic() + LOOK_EVERY_S
        while True:
            # However much there is to carry: who waits for room has nothing to be noticed by.
            if time.monotonic() >= look:
                self._look()
                look = time.monotonic() + LOOK_EVERY_S
            try:
                item = self._queue.get(timeout=max(0.0, look - time.monotonic()))
            except Empty:
                continue
            if item is None:
                break
            # One thread for all of them: what it does now it does for this one.
            with begin(item.request):
                if isinstance(item, Job):
                    self._open(item)
                else:
                    self._carry(item)
        for stream, client in self._clients.items():
            with begin(stream.request):
                stream.stop()
                _fail(client, RuntimeError("the server stops"))

    def _open(self, job: Job) -> None:
        try:
            self._clients[job.open(self._queue.put)] = job.client
        except Exception as error:
            _fail(job.client, error)

    def _carry(self, stream: Stream) -> None:
        client = self._clients.get(stream)
        if client is None:
            return
        try:
            pieces = stream.take()
            for piece in pieces:
                if piece.bad:
                    log.warning(
                        "answer %s: left out what is no text: %s", stream.request, piece.bad
                    )
                client.piece(piece)
        except Exception as error:
            self._drop(stream)
            _fail(client, error)
            return
        if pieces and pieces[-1].finish:
            del self._clients[stream]
        elif client.stopped():
            stream.stop()

    def _look(self) -> None:
        for stream, client in list(self._clients.items()):
            with begin(stream.request):
                self._ask(stream, client)

    def _ask(self, stream: Stream, client: Client) -> None:
        try:
            if client.stopped():
                stream.stop()
        except Exception as error:
            self._drop(stream)
            _fail(client, error)

    def _drop(self, stream: Stream) -> None:
        del self._clients[stream]
        stream.stop()


def _fail(client: Client, error: Exception) -> None:
    log.error("answer: %s: %s", type(error).__name__, error)
    why = str(error) if isinstance(error, EngineError) else type(error).__name__
    try:
        client.failed(f"the model cannot answer ({why})")
    except Exception as second:  # the one carrying thread outlives any client
        log.error("answer: %s: %s", type(second).__name__, second)
