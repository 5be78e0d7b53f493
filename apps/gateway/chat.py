"""`POST /v1/chat`: from bytes to a checked question, and its answer back as SSE or JSON."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from starlette.types import Message, Receive, Scope, Send

from apps.gateway.conversation import ASSERTION_S, Asked, Conversation, cannot_answer
from apps.gateway.directory import Customer, Directory, DirectoryDown
from apps.gateway.events import Delta, Done, Event, Meta, done_fields, json_body, meta_fields, sse
from apps.gateway.health import Health
from apps.gateway.question import Question, read_question
from apps.gateway.record import GONE_HTTP, Record
from apps.gateway.refusal import ClientGone, Refusal
from apps.gateway.request import bearer_token, check_json, read_body
from apps.gateway.stops import GONE, Running, Stops
from apps.retrieval.assertion import sign


class Chat:
    """The endpoint. Front puts "record" and "headers_once" into the scope."""

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
        question = read_question(await read_body(headers, receive))
        writer = (_SSE if question.stream else _JSON)(send, question, record, self._lane)
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
        expires = int(time.time()) + ASSERTION_S
        asked = Asked(
            question,
            sign(self._key, customer.id, question.session, expires),
            customer.language,
            record.request_id,
            record.started,
        )
        async with aclosing(self._conversation.answer(asked, running)) as events:
            async for event in events:
                yield event

    async def _reply(
        self, events: AsyncIterator[Event], writer: "_SSE | _JSON", record: Record, running: Running
    ) -> None:
        done: Done | None = None
        async for event in events:
            if isinstance(event, Meta):
                record.intent = event.intent
            elif isinstance(event, Delta):
                record.first_ms = record.first_ms or record.elapsed_ms()
                record.words += 1
            else:
                record.total_ms = record.elapsed_ms()
                record.status, record.reason = event.status, event.reason
                done = event
            if running.ended == GONE:
                break
            await writer.write(event)
        if done is None:
            raise ClientGone
        if done.status != "degraded":
            self._health.succeeded()


class _SSE:
    """Sends each event as it comes."""

    def __init__(self, send: Send, question: Question, record: Record, lane: str) -> None:
        self._send = send
        self._question = question
        self._record = record
        self._lane = lane

    async def write(self, event: Event) -> None:
        if isinstance(event, Meta):
            self._record.http = 200
            await self._send(_start("text/event-stream"))
            fields = {"lane": self._lane, "request_id": self._record.request_id}
            names = {"session": self._question.session, "message_id": self._question.message_id}
            await self._body(sse("meta", meta_fields(event) | fields | names))
        elif isinstance(event, Delta):
            await self._body(sse("delta", {"text": event.text}))
        else:
            fields = done_fields(event, self._record.first_ms, self._record.total_ms)
            await self._body(sse("done", fields), more=False)

    async def _body(self, data: bytes, *, more: bool = True) -> None:
        await self._send({"type": "http.response.body", "body": data, "more_body": more})


class _JSON:
    """Collects the events and sends one object."""

    def __init__(self, send: Send, question: Question, record: Record, lane: str) -> None:
        self._send = send
        self._question = question
        self._record = record
        self._lane = lane
        self._meta: Meta | None = None
        self._text: list[str] = []

    async def write(self, event: Event) -> None:
        if isinstance(event, Meta):
            self._meta = event
        elif isinstance(event, Delta):
            self._text.append(event.text)
        elif self._meta is not None:
            self._record.http = 200
            body = json_body(
                {"reply": "".join(self._text)}
                | meta_fields(self._meta)
                | done_fields(event, self._record.first_ms, self._record.total_ms)
                | {
                    "session": self._question.session,
                    "message_id": self._question.message_id,
                    "request_id": self._record.request_id,
                    "lane": self._lane,
                }
            )
            await self._send(_start("application/json", len(body)))
            await self._send({"type": "http.response.body", "body": body})


def _start(content_type: str, length: int | None = None) -> Message:
    headers = [(b"content-type", content_type.encode()), (b"cache-control", b"no-store")]
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    return {"type": "http.response.start", "status": 200, "headers": headers}


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
