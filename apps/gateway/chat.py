"""`POST /v1/chat`: from bytes to a checked question, and its answer back as SSE or JSON."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from starlette.types import Receive, Scope, Send

from apps.gateway.conversation import ASSERTION_S, Asked, Conversation, cannot_answer
from apps.gateway.directory import Customer, Directory, DirectoryDown
from apps.gateway.events import Delta, Done, Event, Meta
from apps.gateway.health import Health
from apps.gateway.meter import Books
from apps.gateway.question import Question, read_question
from apps.gateway.record import GONE_HTTP, Record
from apps.gateway.refusal import ClientGone, Refusal
from apps.gateway.request import bearer_token, check_json, read_body
from apps.gateway.stops import GONE, Running, Stops
from apps.gateway.writers import JSONWriter, SSEWriter
from apps.retrieval.assertion import sign

FIRST_WORD = 2
"""The first piece of a reply is the rendered facts, the second the model's first word."""


class Chat:
    """The endpoint. Front puts "record" and "headers_once" into the scope, and the accounting
    around us "tokens"."""

    def __init__(
        self,
        directory: Directory,
        conversation: Conversation,
        stops: Stops,
        health: Health,
        *,
        lane: str,
        assertion_key: bytes,
    ) -> None:
        self._directory = directory
        self._conversation = conversation
        self._stops = stops
        self._health = health
        self._lane = lane
        self._key = assertion_key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; raises Refusal or ClientGone before the reply begins."""
        record: Record = scope["record"]
        headers: dict[str, str] = scope["headers_once"]
        check_json(headers)
        customer = await self._customer(bearer_token(headers))
        record.customer = customer
        record.books = Books(scope["tokens"])
        record.stages.ended("identify")
        question = read_question(await read_body(headers, receive))
        record.stages.ended("read")
        writer = (SSEWriter if question.stream else JSONWriter)(send, question, record, self._lane)
        with self._stops.running(question.session) as running:
            async with (
                _watching(receive, running),
                aclosing(self._answer(question, customer, record, running)) as events,
            ):
                await self._reply(events, writer, record, running)

    async def _customer(self, token: str) -> Customer:
        try:
            return await self._directory.authenticate(token)
        except DirectoryDown as error:
            raise Refusal(
                503,
                f"the token cannot be checked: {error}",
                "ask again in a few seconds",
                retry_after="2",
            ) from None

    async def _answer(
        self, question: Question, customer: Customer, record: Record, running: Running
    ) -> AsyncGenerator[Event, None]:
        try:
            await self._directory.bind(question.session, customer.id)
        except DirectoryDown as error:
            for event in cannot_answer(question.query, customer.language, str(error)):
                yield event
            return
        record.stages.ended("bind")
        expires = int(time.time()) + ASSERTION_S
        asked = Asked(
            question,
            sign(self._key, customer.id, question.session, expires),
            customer.language,
            record.request_id,
            record.started,
            record.books,
        )
        async with aclosing(self._conversation.answer(asked, running)) as events:
            async for event in events:
                yield event

    async def _reply(
        self,
        events: AsyncIterator[Event],
        writer: SSEWriter | JSONWriter,
        record: Record,
        running: Running,
    ) -> None:
        done: Done | None = None
        async for event in events:
            if isinstance(event, Meta):
                record.intent = event.intent
                record.stages.ended("route")
            elif isinstance(event, Delta):
                record.first_ms = record.first_ms or record.elapsed_ms()
                record.words += 1
                if record.words == FIRST_WORD:
                    record.stages.ended("prompt")
            else:
                record.total_ms = record.elapsed_ms()
                record.status, record.reason = event.status, event.reason
                record.stages.ended("words")
                done = event
            if running.ended == GONE:
                raise ClientGone
            await writer.write(event)
        if done is None:
            raise ClientGone
        if done.status != "degraded":
            self._health.succeeded()


@asynccontextmanager
async def _watching(receive: Receive, running: Running) -> AsyncIterator[None]:
    """While open, the client's leaving ends `running`; nobody else may read from it."""

    async def watch() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        running.end(GONE)

    task = asyncio.create_task(watch())
    try:
        yield
    finally:
        task.cancel()


def gone(record: Record) -> None:
    """Note in the record that the client left."""
    record.http, record.status = GONE_HTTP, "gone"
    record.total_ms = record.elapsed_ms()
