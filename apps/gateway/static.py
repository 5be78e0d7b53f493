"""The chat page: a handful of files, kept in memory, that load nothing from elsewhere."""

from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

FOLDER = Path(__file__).parent / "page"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


class Static:
    """One file."""

    def __init__(self, path: Path) -> None:
        self._body = path.read_bytes()
        self._headers = [
            (b"content-type", TYPES[path.suffix].encode()),
            (b"content-length", str(len(self._body)).encode()),
            (b"content-security-policy", POLICY.encode()),
            (b"referrer-policy", b"no-referrer"),
            (b"cache-control", b"no-cache"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        await send({"type": "http.response.start", "status": 200, "headers": [*self._headers]})
        await send({"type": "http.response.body", "body": self._body})


def page_routes(folder: Path = FOLDER) -> dict[str, tuple[str, ASGIApp]]:
    """The page at `/`, its other files under `/page/`."""
    routes: dict[str, tuple[str, ASGIApp]] = {}
    for path in sorted(folder.iterdir()):
        name = "/" if path.name == "index.html" else f"/page/{path.name}"
        routes[name] = ("GET", Static(path))
    return routes
