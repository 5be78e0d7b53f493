"""The pieces of one answer, on their way from the engine's thread to a reader in another."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from apps.engine.detokenizer import BadByte
from apps.engine.owner import Owner
from apps.engine.sequence import Served

NO_TOKEN = -1


@dataclass(frozen=True)
class Event:
    """When a token was made and what else its step computed.

    `id` rises over all answers of an engine; `at_ns` is on `time.perf_counter_ns`
    (CLOCK_MONOTONIC); `table` lists (request, tokens, "prefill" or "decode") of `step`. Of
    the `prompt` tokens of the question `found` were computed before it was asked.
    """

    id: int
    at_ns: int
    request: str
    step: int
    table: list[Served]
    prompt: int
    found: int


@dataclass(frozen=True)
class Piece:
    """What one token gave.

    `text` has whole characters only and may be empty: in the middle of a character or of
    what may become a stop string, and for the token that ends the answer. `finish` is ""
    until the last piece: "stop", "length", "cancelled" or "deadline"; the last two come
    with `NO_TOKEN`. `bad` are bytes that the model made and that are no text.
    """

    text: str
    token: int
    finish: str
    bad: tuple[BadByte, ...] = ()
    event: Event | None = field(default=None, compare=False)


class Stream(Iterator[Piece]):
    """For one reader, who waits for the next piece or asks for those that are there.

    While `room` pieces are unread the engine computes no more of this answer, but of
    others. `heard` is called whenever there is something to read, in the engine's thread or
    in that of whoever stops the answer.
    Errors: `Forked` in a process that was forked off after it began.
    """

    def __init__(
        self,
        request: str,
        room: int,
        *,
        stop: Callable[[], None],
        read: Callable[[], None],
        heard: Callable[["Stream"], None],
    ) -> None:
        self.request = request
        self._owner = Owner()
        self.stop = stop
        self._room = room
        self._read = read
        self._heard = heard
        self._pieces: deque[Piece] = deque()
        self._changed = threading.Condition()
        self._over = False
        self._error: Exception | None = None

    @property
    def full(self) -> bool:
        """Whether the reader has to catch up first."""
        return len(self._pieces) >= self._room

    def put(self, piece: Piece) -> None:
        """The engine's next piece."""
        with self._changed:
            self._pieces.append(piece)
            self._over = bool(piece.finish)
            self._changed.notify_all()
        self._heard(self)

    def fail(self, error: Exception) -> None:
        """The reader gets this error after the pieces that are there."""
        with self._changed:
            self._over, self._error = True, error
            self._changed.notify_all()
        self._heard(self)

    def __next__(self) -> Piece:
        self._owner.check()
        with self._changed:
            while not self._pieces and not self._over:
                self._changed.wait()
            piece = self._pieces.popleft() if self._pieces else None
        if piece is None:
            raise self._error or StopIteration
        self._read()
        return piece

    def take(self) -> list[Piece]:
        """The pieces that are there. Errors: the answer's, once they are all taken."""
        self._owner.check()
        with self._changed:
            pieces = list(self._pieces)
            self._pieces.clear()
            error = None if pieces else self._error
        if error:
            raise error
        self._read()
        return pieces
