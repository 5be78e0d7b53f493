"""The HTTP endpoint: texts in, vectors out, within bounds."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from apps.embedder import order
from apps.embedder.embedder import Embedder
from apps.embedder.errors import BadText, Busy
from apps.strict_json import BadJSON

MAX_IN_PROGRESS = 16
MAX_RECEIVED = 64
BODY_TIMEOUT_S = 5.0
ANSWER_TIMEOUT_S = 60.0


def create_app(
    embedder: Embedder,
    max_in_progress: int = MAX_IN_PROGRESS,
    max_received: int = MAX_RECEIVED,
    timeout_s: float = ANSWER_TIMEOUT_S,
) -> Starlette:
    """The ASGI application; the caller closes `embedder` after it."""
    service = Service(embedder, max_in_progress, max_received, timeout_s)
    return Starlette(
        routes=[
            Route("/v1/embeddings", service.embeddings, methods=["POST"]),
            Route("/v1/models", service.models, methods=["GET"]),
            Route("/livez", _well, methods=["GET"]),
            Route("/readyz", _well, methods=["GET"]),
        ],
        exception_handlers={
            HTTPException: _refuse,
            BadJSON: _answer(400),
            BadText: _answer(400),
            Busy: _answer(503, {"Retry-After": "1"}),
            # Nobody reads it; it keeps a client that left from being taken for a fault of ours.
            ClientDisconnect: _answer(400),
        },
    )


class Places:
    """Room for so many requests at once."""

    def __init__(self, most: int, what: str) -> None:
        self._most, self._what, self._taken = most, what, 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Hold one. Errors: `Busy`."""
        if self._taken >= self._most:
            raise Busy(f"{self._most} requests are {self._what}; ask again in a second")
        self._taken += 1
        try:
            yield
        finally:
            self._taken -= 1


class Service:
    """The handlers that need the model."""

    def __init__(
        self, embedder: Embedder, max_in_progress: int, max_received: int, timeout_s: float
    ) -> None:
        self._embedder = embedder
        self._timeout_s = timeout_s
        # Apart, so that clients that send slowly keep nobody from being computed.
        self._received = Places(max_received, "being received")
        self._in_progress = Places(max_in_progress, "in progress")

    async def embeddings(self, request: Request) -> Response:
        """`POST /v1/embeddings`: see `apps.embedder.order`."""
        with self._received.one():
            body = await _body(request)
        with self._in_progress.one():
            return await run_in_threadpool(self._computed, body)

    def _computed(self, body: bytes) -> Response:
        asked = order.read(body, self._embedder.model)
        found = self._embedder.embed(asked.texts, asked.kind, self._timeout_s)
        return JSONResponse(order.reply(asked, found, self._embedder.model))

    async def models(self, _: Request) -> Response:
        """`GET /v1/models`: the one that is served."""
        model = {"id": self._embedder.model, "object": "model", "owned_by": "switchyard"}
        return JSONResponse({"object": "list", "data": [model]})


async def _body(request: Request) -> bytes:
    received = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for chunk in request.stream():
                received += chunk
                if len(received) > order.MAX_BYTES:
                    text = f"the body is longer than {order.MAX_BYTES} bytes; send fewer texts"
                    raise HTTPException(413, text)
    except TimeoutError:
        raise HTTPException(408, f"the body took longer than {BODY_TIMEOUT_S:g} s") from None
    return bytes(received)


async def _well(_: Request) -> Response:
    return PlainTextResponse("ok\n")


def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code in (408, 413):
        # What is left of the body unread would be taken for the next request.
        headers["Connection"] = "close"
    return JSONResponse({"error": error.detail}, error.status_code, headers)


def _answer(
    status: int, headers: dict[str, str] | None = None
) -> Callable[[Request, Exception], Response | Awaitable[Response]]:
    def handler(_: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error) or "the client left"}, status, headers)

    return handler
