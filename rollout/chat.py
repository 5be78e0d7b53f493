"""One question to a gateway over HTTP, read as it streams, with its times."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import urllib3

from rollout.sse import BadStream, Event, events

MAX_REPLY_BYTES = 4 << 20


class ChatFailed(Exception):
    """A question that got no usable reply; one line with the reason."""


@dataclass(frozen=True)
class HttpReply:
    """Status code and the body's chunks as they arrive."""

    status: int
    chunks: Iterable[bytes]


class Http(Protocol):
    """The edge that a runner needs: one POST whose reply streams."""

    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> AbstractContextManager[HttpReply]:
        """Open the reply; leaving the context closes it. Raises ChatFailed."""


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
        except (BadStream, ValueError, KeyError, TypeError, AttributeError) as error:
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


class UrllibHttp:
    """The real edge: keeps connections, never retries, follows no redirect."""

    def __init__(self, connections: int = 8) -> None:
        self._pool = urllib3.PoolManager(maxsize=connections, retries=False)

    @contextmanager
    def post(
        self, url: str, headers: Mapping[str, str], body: bytes, timeout_s: float
    ) -> Iterator[HttpReply]:
        try:
            reply = self._pool.request(
                "POST",
                url,
                headers=headers,
                body=body,
                timeout=urllib3.Timeout(connect=min(timeout_s, 5.0), read=timeout_s),
                preload_content=False,
                redirect=False,
            )
        except urllib3.exceptions.HTTPError as error:
            raise ChatFailed(f"{url}: {_reason(error)}") from None
        complete = False
        try:
            yield HttpReply(reply.status, reply.stream(65536))
            reply.drain_conn()
            complete = True
        except urllib3.exceptions.HTTPError as error:
            raise ChatFailed(f"{url}: the reply broke off: {_reason(error)}") from None
        finally:
            if complete:
                reply.release_conn()
            else:
                reply.close()


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
