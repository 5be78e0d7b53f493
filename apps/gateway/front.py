"""The public ASGI application: who serves which path, and what holds for every request."""

import asyncio
import logging
import time
import uuid
from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from apps.gateway.chat import gone
from apps.gateway.health import Health
from apps.gateway.record import Journal, Record
from apps.gateway.refusal import ClientGone, Refusal
from apps.gateway.request import headers_of
from observability.probes.request import begin

log = logging.getLogger(__name__)

CHAT = "/v1/chat"
DOCUMENTS = "/v1/documents"


class Front:
    """Bounds the requests in progress, names each, logs each, and turns refusals into replies.

    `routes` maps a path to its method and application; paths are matched exactly.
    """

    def __init__(
        self,
        routes: Mapping[str, tuple[str, ASGIApp]],
        health: Health,
        journal: Journal,
        *,
        lane: str,
        max_in_flight: int,
    ) -> None:
        self._routes = routes
        self._health = health
        self._journal = journal
        self._lane = lane.encode()
        self._max_in_flight = max_in_flight
        self.in_flight = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request (scope type "http")."""
        known = scope["path"] in self._routes
        record = Record(
            request_id=uuid.uuid4().hex,
            method=scope["method"] if scope["method"] in _METHODS else "other",
            path=scope["path"] if known else "other",
            started=time.monotonic(),
        )
        scope["record"] = record
        with begin(record.request_id):
            await self._named(scope, receive, send, record)

    async def _named(self, scope: Scope, receive: Receive, send: Send, record: Record) -> None:
        chat = record.path == CHAT
        reply = _Reply(send, record, self._lane, self._health)
        self.in_flight += 1
        try:
            await self._serve(scope, receive, reply)
        except Refusal as refusal:
            record.status = "refused" if refusal.http < 500 else "busy"
            record.reason = refusal.error
            await reply.refuse(refusal)
        except ClientGone:
            gone(record)
        except asyncio.CancelledError:
            record.status = "cut"
            raise
        except Exception:
            log.exception("request %s failed", record.request_id)
            record.status, record.http = "error", 500
            await reply.refuse(_INTERNAL)
        finally:
            self.in_flight -= 1
            record.total_ms = record.total_ms or record.elapsed_ms()
            self._journal.ended(record, chat=chat)

    async def _serve(self, scope: Scope, receive: Receive, reply: "_Reply") -> None:
        scope["headers_once"] = headers_of(scope)
        route = self._routes.get(scope["path"])
        if route is None:
            paths = ", ".join(sorted(self._routes))
            raise Refusal(404, "there is nothing at this path", f"use one of {paths}")
        method, application = route
        if scope["method"] != method and not (method == "GET" and scope["method"] == "HEAD"):
            raise Refusal(405, "this path does not take this method", f"use {method}", allow=method)
        if method == "POST" and self.in_flight > self._max_in_flight:
            raise Refusal(
                503,
                "busy: too many requests are in progress",
                "ask again in a second",
                retry_after="1",
            )
        await application(scope, receive, reply.send)


_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH")
_INTERNAL = Refusal(500, "the gateway made a mistake", "ask again; report the x-request-id")


class _Reply:
    """Adds the headers that every reply carries."""

    def __init__(self, send: Send, record: Record, lane: bytes, health: Health) -> None:
        self._send = send
        self._record = record
        self._lane = lane
        self._health = health
        self._started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._started = True
            self._record.http = message["status"]
            headers = [
                *message.get("headers", []),
                (b"x-switchyard-lane", self._lane),
                (b"x-request-id", self._record.request_id.encode()),
                (b"x-content-type-options", b"nosniff"),
            ]
            if self._health.draining:
                headers.append((b"connection", b"close"))
            message["headers"] = headers
        await self._send(message)

    async def refuse(self, refusal: Refusal) -> None:
        """Send the refusal, unless a reply has begun: then only ending it says anything."""
        if self._started:
            raise RuntimeError("a reply broke off")
        body = refusal.body()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            *((n.encode(), v.encode()) for n, v in refusal.headers.items()),
        ]
        await self.send({"type": "http.response.start", "status": refusal.http, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})
