"""The two forms of a reply on the wire: events as they come, or one JSON object."""

from starlette.types import Message, Send

from apps.gateway.events import Delta, Event, Meta, done_fields, json_body, meta_fields, sse
from apps.gateway.question import Question
from apps.gateway.record import Record


class SSEWriter:
    """Sends each event as it comes."""

    def __init__(self, send: Send, question: Question, record: Record, lane: str) -> None:
        self._send = send
        self._question = question
        self._record = record
        self._lane = lane

    async def write(self, event: Event) -> None:
        """Send one event."""
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


class JSONWriter:
    """Collects the events and sends one object."""

    def __init__(self, send: Send, question: Question, record: Record, lane: str) -> None:
        self._send = send
        self._question = question
        self._record = record
        self._lane = lane
        self._meta: Meta | None = None
        self._text: list[str] = []

    async def write(self, event: Event) -> None:
        """Keep one event; the last one sends them all."""
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
