"""The admin port: probes, samples and the drain request, and the public paths once more.

Clients cannot reach it. Who examines this very lane asks here, because a network policy
tells ports apart and not the Services that lead to them.
"""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from apps.gateway.health import DRAIN_S, Health
from apps.gateway.samples import KEPT, Samples

PROBE_S = 2.0
DEFAULT_LIMIT = 1000

Probe = Callable[[], Awaitable[bool]]


class AdminPort:
    """Admin paths go to `admin`, all others to `public`."""

    def __init__(self, admin: Starlette, public: ASGIApp) -> None:
        self._admin = admin
        self._public = public
        self._paths = {route.path for route in admin.routes if isinstance(route, Route)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        app = self._admin if scope["path"] in self._paths else self._public
        await app(scope, receive, send)


def admin_app(health: Health, samples: Samples, probes: tuple[Probe, ...]) -> Starlette:
    """`probes` tell whether a neighbour answers; see Health.ready."""

    async def livez(request: Request) -> Response:
        return PlainTextResponse("alive\n")

    async def startupz(request: Request) -> Response:
        text = "started" if health.started else "starting"
        return PlainTextResponse(f"{text}\n", 200 if health.started else 503)

    async def readyz(request: Request) -> Response:
        try:
            async with asyncio.timeout(PROBE_S):
                ready, why = await health.ready(*probes)
        except TimeoutError:
            ready, why = False, f"no neighbour answered within {PROBE_S:.0f} s"
        return PlainTextResponse(f"{why}\n", 200 if ready else 503)

    async def page(request: Request) -> Response:
        try:
            after = _number(request, "after", 0, 2**53)
            limit = _number(request, "limit", DEFAULT_LIMIT, KEPT)
        except ValueError as error:
            return JSONResponse({"error": str(error), "do": "send a whole number"}, 400)
        return JSONResponse(samples.page(after, limit))

    async def drain(request: Request) -> Response:
        health.drain()
        return JSONResponse({"draining_s": DRAIN_S})

    return Starlette(
        routes=[
            Route("/livez", livez),
            Route("/startupz", startupz),
            Route("/readyz", readyz),
            Route("/samples", page),
            Route("/drain", drain, methods=["POST"]),
        ]
    )


def _number(request: Request, name: str, default: int, most: int) -> int:
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= most):
        raise ValueError(f"{name} is not a number from 0 to {most}")
    return int(text)
