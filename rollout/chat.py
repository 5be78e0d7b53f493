"""One question to a gateway over HTTP, read as it streams, with its times."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rollout.http_edge import ChatFailed, Http
from rollout.sse import BadStream, Event, events

MAX_REPLY_BYTES = 1 << 20

_NOT_THE_API = (BadStream, ValueError, KeyError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True)
class Question:
    """One message of a customer, as the gateway's API names its parts."""

    query: str
    session: str
    message_id: str


@dataclass(frozen=True)
class Answer:
    """A reply as a whole; times in milliseconds since the question was sent."""

    intent: str
    language: str
    status: str
    text: str
    first_ms: float
    total_ms: float
    facts: Mapping[str, str] = field(default_factory=dict)
    ticket: str | None = None
    ticket_created: bool = False
    lane: str = ""
    reason: str = ""


def ask(
    http: Http,
    base_url: str,
    token: str,
    question: Question,
    *,
    timeout_s: float,
    clock: Callable[[], float],
) -> Answer:
    """Ask, streaming. Raises ChatFailed for anything but a complete 200 reply."""
    body = {
        "query": question.query,
        "session": question.session,
        "message_id": question.message_id,
        "stream": True,
    }
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    sent = clock()
    url = base_url.rstrip("/") + "/v1/chat"
    with http.post(url, headers, json.dumps(body).encode(), timeout_s) as reply:
        if reply.status != 200:
            raise ChatFailed(f"HTTP {reply.status}: {_excerpt(reply.chunks)}")
        try:
            return _read(events(_bounded(reply.chunks, sent + timeout_s, clock)), sent, clock)
        except _NOT_THE_API as error:
            raise ChatFailed(f"the reply is not the API's: {error!r}") from None


def _read(stream: Iterator[Event], sent: float, clock: Callable[[], float]) -> Answer:
    meta: dict[str, Any] = {}
    pieces: list[str] = []
    first_ms = 0.0
    for event in stream:
        data = json.loads(event.data)
        now_ms = (clock() - sent) * 1000
        if event.kind == "meta":
            meta = data
        elif event.kind == "delta":
            first_ms = first_ms or now_ms
            pieces.append(data["text"])
        elif event.kind == "done":
            ticket = meta.get("ticket") or {}
            return Answer(
                intent=meta["intent"],
                language=meta["language"],
                status=data["status"],
                text="".join(pieces),
                first_ms=first_ms or now_ms,
                total_ms=now_ms,
                facts={fact["name"]: str(fact["value"]) for fact in meta["facts"]},
                ticket=ticket.get("id"),
                ticket_created=bool(ticket.get("created")),
                lane=meta.get("lane", ""),
                reason=data.get("reason") or "",
            )
    raise ChatFailed("the stream ended without its done event")


def _bounded(chunks: Iterable[bytes], until: float, clock: Callable[[], float]) -> Iterator[bytes]:
    size = 0
    for chunk in chunks:
        size += len(chunk)
        if size > MAX_REPLY_BYTES:
            raise ChatFailed(f"the reply is longer than {MAX_REPLY_BYTES} bytes")
        if clock() > until:
            raise ChatFailed("the reply did not end in time")
        yield chunk


def _excerpt(chunks: Iterable[bytes]) -> str:
    body = b""
    for chunk in chunks:
        body += chunk
        if len(body) > 300:
            break
    return " ".join(body[:300].decode("utf-8", "replace").split())
