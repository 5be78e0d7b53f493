"""One question, answered: facts first, then the model's words, until one of them must stop."""

import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Protocol

from apps.gateway import degraded, pressure
from apps.gateway.events import Delta, Done, Event, Meta
from apps.gateway.meter import Books, Meter
from apps.gateway.numbers import unsupported
from apps.gateway.pipeline import Ended, PipelineFailed, Word
from apps.gateway.question import Question
from apps.gateway.routed import Routed
from apps.gateway.stops import COMPLAINT, GONE, Running, Stops
from observability.tokens import Reason

ROUTE_TIMEOUT_S = 5.0
ASSERTION_S = 120
WORDS = "model_words"


class Models(Protocol):
    """What answering needs of the pipeline; see apps.gateway.pipeline.Pipeline."""

    async def route(
        self,
        query: str,
        assertion: str,
        message_id: str,
        request_id: str,
        *,
        timeout_s: float,
        running: Running,
    ) -> Routed:
        """Intent, facts and the rendered answer."""

    def words(
        self,
        prompt: str,
        session: str,
        request_id: str,
        *,
        max_tokens: int,
        timeout_s: float,
        running: Running,
    ) -> AsyncGenerator[Word, None]:
        """The model's words."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what the gateway knows about it. `started` is on the monotonic clock;
    the answer's tokens are entered in its `books`."""

    question: Question
    assertion: str
    language: str
    request_id: str
    started: float
    books: Books


class Conversation:
    """Answers questions. At most `streams` answers get the model's words at once: with more,
    each would be too slow for all, so the rest get the facts alone and are told so. The same
    while the GPU is `pressed`: an answer more could cost those that run; that is degraded."""

    def __init__(
        self,
        models: Models,
        stops: Stops,
        *,
        max_tokens: int,
        streams: int,
        deadline_s: float,
        pressed: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._models = models
        self._stops = stops
        self._max_tokens = max_tokens
        self._free = streams
        self._deadline_s = deadline_s
        self._pressed = pressed
        self._clock = clock

    async def answer(self, asked: Asked, running: Running) -> AsyncGenerator[Event, None]:
        """Meta, at least one Delta, Done. Ends early, without Done, if the client left."""
        question = asked.question
        try:
            routed = await self._models.route(
                question.query,
                asked.assertion,
                question.message_id,
                asked.request_id,
                timeout_s=min(ROUTE_TIMEOUT_S, self._left(asked)),
                running=running,
            )
        except Ended:
            return
        except PipelineFailed as error:
            for event in cannot_answer(question.query, asked.language, str(error)):
                yield event
            return
        if routed.ticket and routed.ticket["created"]:
            # Not on a retry: it may come late, when a newer answer is running.
            self._stops.stop(question.session, but=running)
        omitted = list(routed.omitted)
        status, reason, withheld = routed.status, routed.reason, self._withheld()
        if routed.prompt is not None and withheld:
            omitted.append({"what": WORDS, "why": withheld})
            if withheld == pressure.WHY:
                status, reason = "degraded", withheld
        silent = routed.prompt is None or withheld is not None
        if not silent:
            # Before anything is sent: nobody else takes the same place meanwhile.
            self._free -= 1
        try:
            yield Meta(
                routed.intent,
                routed.language,
                routed.facts,
                omitted,
                routed.ticket,
                routed.citations,
            )
            yield Delta(routed.text or degraded.text(routed.language))
            if silent:
                yield Done(status, reason, omitted)
                return
            async with aclosing(self._words(asked, routed, omitted, running)) as events:
                async for event in events:
                    yield event
        finally:
            if not silent:
                self._free += 1

    async def _words(
        self, asked: Asked, routed: Routed, omitted: list[dict[str, str]], running: Running
    ) -> AsyncGenerator[Event, None]:
        said: list[str] = []
        status, reason = routed.status, routed.reason
        meter = Meter(asked.books)
        words = self._models.words(
            routed.prompt or "",
            asked.question.session,
            asked.request_id,
            max_tokens=self._max_tokens,
            timeout_s=self._left(asked),
            running=running,
        )
        try:
            if running.ended:
                raise Ended(running.ended)
            async with aclosing(words) as stream:
                async for word in stream:
                    meter.heard(word)
                    text = word.text if said else word.text.lstrip()
                    if text:
                        yield Delta(text if said else f"\n\n{text}")
                        said.append(text)
                    if running.ended:
                        raise Ended(running.ended)
        except Ended:
            if running.ended == GONE:
                return
            status, reason = "stopped", COMPLAINT
            asked.books.account.throw_away(Reason.COMPLAINT)
            omitted = [*omitted, {"what": WORDS, "why": COMPLAINT}]
        except PipelineFailed as error:
            status, reason = "degraded", str(error)
            asked.books.account.throw_away(Reason.DEADLINE if error.late else Reason.FAILED)
            omitted = [*omitted, {"what": WORDS, "why": str(error)}]
        # Of a citation what is written there; where its box lies supports no number.
        shown = [[one["page"], one.get("quote")] for one in routed.citations]
        facts = json.dumps([routed.facts, shown], ensure_ascii=False)
        sources = [routed.text, asked.question.query, facts]
        yield Done(status, reason, omitted, unsupported("".join(said), sources))

    def _withheld(self) -> str | None:
        """Why an answer gets no words of the model now."""
        if self._pressed():
            return pressure.WHY
        return None if self._free else "too many answers are being written"

    def _left(self, asked: Asked) -> float:
        return max(asked.started + self._deadline_s - self._clock(), 0.1)


def cannot_answer(query: str, usual_language: str, reason: str) -> list[Event]:
    """The reply when nothing can be found out now."""
    language = degraded.language_of(query, usual_language)
    omitted = [{"what": "answer", "why": reason}]
    return [
        Meta("other", language, omitted=omitted),
        Delta(degraded.text(language)),
        Done("degraded", reason, omitted),
    ]
