"""The service's routes: complaints in, tickets out, a page for staff, probes."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from apps.retrieval.pool import Pool, TryLater
from apps.strict_json import BadJSON
from apps.tickets import staff
from apps.tickets.complaint import BadComplaint, parse
from apps.tickets.settings import Settings
from apps.tickets.store import NotAllowed, Store
from apps.tickets.ticket import ticket_id, ticket_number

MAX_BODY = 65536
BODY_TIMEOUT_S = 5.0
STYLE = (Path(__file__).parent / "templates" / "tickets.css").read_text("utf-8")

_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def create_app(settings: Settings) -> Starlette:
    """Return the ASGI application; its pool opens and closes with the server."""
    pool = Pool(settings.database_url, size=4, deadline_s=2.5)
    service = Service(Store(pool), settings)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        pool.open()
        yield
        pool.close()

    return Starlette(
        routes=[
            Route("/v1/tickets", service.file, methods=["POST"]),
            Route("/v1/tickets", service.list_json, methods=["GET"]),
            Route("/v1/tickets/{id}", service.one, methods=["GET"]),
            Route("/", service.page, methods=["GET"]),
            Route("/tickets.css", _style, methods=["GET"]),
            Route("/livez", _live, methods=["GET"]),
            Route("/readyz", service.ready, methods=["GET"]),
            Route("/startupz", service.ready, methods=["GET"]),
        ],
        exception_handlers={
            HTTPException: _refuse,
            BadJSON: _answer(400),
            BadComplaint: _answer(400),
            staff.BadPage: _answer(400),
            NotAllowed: _answer(403),
            TryLater: _try_later,
        },
        lifespan=lifespan,
    )


class Service:
    """The handlers that need the tickets."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings

    async def file(self, request: Request) -> Response:
        """`POST /v1/tickets`: 201 with a new ticket's id, 200 with an earlier one's."""
        complaint = parse(await _body(request))
        number, created = await run_in_threadpool(self._store.file, complaint)
        body = {"id": ticket_id(number), "created": created}
        return JSONResponse(body, 201 if created else 200)

    async def one(self, request: Request) -> Response:
        """`GET /v1/tickets/{id}` for staff."""
        self._require_staff(request)
        number = ticket_number(request.path_params["id"])
        ticket = await run_in_threadpool(self._store.ticket, number) if number else None
        if ticket is None:
            raise HTTPException(404, "there is no such ticket")
        return JSONResponse(ticket.as_json(), headers=_HEADERS)

    async def list_json(self, request: Request) -> Response:
        """`GET /v1/tickets?before=ID&limit=N` for staff."""
        page = await self._read_page(request)
        return JSONResponse(page.as_json(), headers=_HEADERS)

    async def page(self, request: Request) -> Response:
        """`GET /` for staff: HTML, or JSON with `output=json`."""
        page = await self._read_page(request)
        if request.query_params.get("output") == "json":
            return JSONResponse(page.as_json(), headers=_HEADERS)
        return HTMLResponse(staff.render(page, self._settings.lane), headers=_HEADERS)

    async def ready(self, _: Request) -> Response:
        """`GET /readyz`, `/startupz`: whether the database answers this role's real query."""
        # Lately is enough: under load a query of the probe's own would wait behind the others.
        if self._store.answered_lately or await run_in_threadpool(self._store.answers):
            return PlainTextResponse("ok\n")
        return PlainTextResponse("the database does not answer\n", 503)

    async def _read_page(self, request: Request) -> staff.Page:
        self._require_staff(request)
        query = request.query_params
        before, count = staff.page_request(query.get("before"), query.get("limit"))
        found = await run_in_threadpool(self._store.page, before, count + 1)
        return staff.page_of(found, count, is_first="before" not in query)

    def _require_staff(self, request: Request) -> None:
        given = request.headers.get("authorization", "")
        if not staff.is_staff(given, self._settings.staff_token):
            challenge = {"WWW-Authenticate": 'Basic realm="tickets", charset="UTF-8"'}
            raise HTTPException(401, "sign in as staff with the staff token", challenge)


async def _body(request: Request) -> bytes:
    """Read the whole body, at most `MAX_BODY` bytes within `BODY_TIMEOUT_S`."""
    received = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for chunk in request.stream():
                received += chunk
                if len(received) > MAX_BODY:
                    raise HTTPException(413, f"the body is longer than {MAX_BODY} bytes; send less")
    except TimeoutError:
        raise HTTPException(408, f"the body took longer than {BODY_TIMEOUT_S:g} s") from None
    return bytes(received)


async def _live(_: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _style(_: Request) -> Response:
    return Response(STYLE, media_type="text/css", headers=_HEADERS)


def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    if error.status_code in (408, 413):
        # What is left of the body unread would be taken for the next request.
        headers["Connection"] = "close"
    return JSONResponse({"error": error.detail}, error.status_code, headers)


def _answer(status: int) -> Callable[[Request, Exception], Response | Awaitable[Response]]:
    def handler(_: Request, error: Exception) -> Response:
        return JSONResponse({"error": str(error)}, status)

    return handler


def _try_later(_: Request, error: Exception) -> Response:
    body = {"error": f"the database cannot answer now ({error}); try again"}
    return JSONResponse(body, 503, {"Retry-After": "1"})
