"""Answers as a stream of pieces of text."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from time import perf_counter_ns

from apps.engine.chat import Chat, Turn
from apps.engine.detokenizer import BadByte, Detokenizer
from apps.engine.engine import Engine
from apps.engine.errors import BadRequest
from apps.engine.numbers import Numbers
from apps.engine.sampler import Sampler, Sampling
from apps.engine.sequence import Served
from apps.engine.stops import Stops
from apps.engine.stream import NO_TOKEN, Event, Piece, Stream
from apps.engine.tokenizer import Tokenizer

ROOM = 16
DEADLINE_S = 60.0


class Generator:
    """Questions to answers on one engine; for any number of threads."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tokenizer = engine.model.tokenizer
        self._chat = Chat(self._tokenizer)
        self._numbers = Numbers(self._tokenizer)
        self._events = count(1)

    def stream(
        self,
        prompt: str | Sequence[Turn],
        max_tokens: int,
        *,
        system: str | None = None,
        sampling: Sampling | None = None,
        numbers_of: Iterable[str] | None = None,
        stops: Collection[str] = (),
        stop_ids: Collection[int] = (),
        session: str = "",
        request: str = "",
        deadline_s: float = DEADLINE_S,
        room: int = ROOM,
        heard: Callable[[Stream], None] = lambda stream: None,
    ) -> Stream:
        """The answer to the user's turn `prompt`, or to a conversation that ends with one.

        `numbers_of`: every number of the answer is a number in these texts. `stops` are
        strings that end the answer and are no part of it, `stop_ids` tokens that end it as
        every control token does. `session` names the conversation: a prompt that goes on
        with it finds what was computed already; the text is always the caller's to give.
        `room` and `heard`: see `Stream`. Errors, here and not at the first piece:
        `PromptTooLong`, `BadRequest`, `BadText`, `Busy`.
        """
        ids = self._chat.prompt(prompt, system)
        _check(stop_ids, room, self._tokenizer.size)
        only = None if numbers_of is None else self._numbers.only(numbers_of)
        writer = _Writer(self._tokenizer, Stops(stops), frozenset(stop_ids), self._events, len(ids))
        stream = Stream(
            request,
            room,
            stop=partial(self._engine.cancel, writer),
            read=self._engine.wake,
            heard=heard,
        )
        writer.stream = stream
        self._engine.submit(
            ids,
            max_tokens,
            writer,
            Sampler(sampling, only),
            deadline_s=deadline_s,
            session=session,
            request=request,
        )
        return stream


def _check(stop_ids: Collection[int], room: int, vocabulary: int) -> None:
    for token in stop_ids:
        if not 0 <= token < vocabulary:
            raise BadRequest(f"stop token {token}; token ids go from 0 to {vocabulary - 1}")
    if room < 1:
        raise BadRequest(f"room for {room} pieces; choose 1 or more, or nothing can come")


class _Writer:
    """Turns the tokens of one sequence into pieces; the engine's thread calls it."""

    stream: Stream

    def __init__(
        self,
        tokenizer: Tokenizer,
        stops: Stops,
        stop_ids: frozenset[int],
        events: Iterator[int],
        prompt: int,
    ) -> None:
        self._tokenizer = tokenizer
        self._stops = stops
        self._stop_ids = stop_ids
        self._events = events
        self._prompt = prompt
        self._found = 0
        self._detokenizer = Detokenizer()
        self._known = 0  # bad bytes that are in a piece already

    @property
    def full(self) -> bool:
        return self.stream.full

    def begun(self, found: int) -> None:
        self._found = found

    def token(self, token: int, finish: str, step: int, table: list[Served]) -> str:
        if token in self._stop_ids:
            text, finish = "", "stop"
        else:
            text = self._detokenizer.push(token, self._tokenizer.bytes(token))
        if finish:
            text += self._detokenizer.finish()
        text, hit = self._stops.push(text)
        if hit is not None:
            finish = "stop"
        elif finish:
            text += self._stops.finish()
        event = Event(
            next(self._events),
            perf_counter_ns(),
            self.stream.request,
            step,
            table,
            self._prompt,
            self._found,
        )
        self.stream.put(Piece(text, token, finish, self._bad(), event))
        return finish

    def end(self, finish: str) -> None:
        # After a stop nobody wants more; at a deadline what was made is still given out.
        text = ""
        if finish == "deadline":
            text, hit = self._stops.push(self._detokenizer.finish())
            text += "" if hit is not None else self._stops.finish()
        self.stream.put(Piece(text, NO_TOKEN, finish, self._bad()))

    def fail(self, error: Exception) -> None:
        self.stream.fail(error)

    def _bad(self) -> tuple[BadByte, ...]:
        known, self._known = self._known, len(self._detokenizer.bad)
        return tuple(self._detokenizer.bad[known:])
