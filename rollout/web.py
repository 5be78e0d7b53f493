"""The controller's HTTP: push notifications, the status, and the probes."""

from __future__ import annotations

import hmac
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from rollout import commands, journal, push, secrets
from rollout.cluster import Api
from rollout.codec import BadJournal
from rollout.edit import Edit
from rollout.errors import RolloutError
from rollout.names import Names
from rollout.page import page
from rollout.perform import Performer
from rollout.picture import Picture
from rollout.status import Data, status, with_traffic

MAX_BODY = 64 * 1024
SOCKET_S = 5.0
FRESH_S = 15.0
TURN_S = 60.0
TOKEN_S = 30.0


class TooLong(RolloutError):
    """A body that is longer than a push notification can be, or of unknown length."""


class Server(ThreadingHTTPServer):
    """One thread a connection, each bounded in time and size."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self,
        address: tuple[str, int],
        api: Api,
        names: Names,
        picture: Picture,
        performer: Performer,
        woken: threading.Event,
    ) -> None:
        super().__init__(address, Handler)
        self.api, self.names, self.picture = api, names, picture
        self.performer, self.woken = performer, woken
        self._token: tuple[str, float] = ("", -TOKEN_S)

    def accept_push(self, body: Any) -> Edit:
        """Put a push into the queue. Raises BadPush, RolloutError, BadJournal."""
        wish = push.from_hook(body, self.performer.settings.branch, time.time())
        if wish is None:
            return Edit(None, f"not branch {self.performer.settings.branch}: ignored")
        done = journal.edit(self.api, self.names, lambda state: commands.push(state, wish))
        self.woken.set()
        return done

    def allows(self, authorization: str) -> bool:
        """Whether the header carries the webhook's token, which is read again now and then."""
        token, at = self._token
        if time.monotonic() - at > TOKEN_S:
            token = secrets.read(self.api, self.names, secrets.WEBHOOK, "token")
            self._token = (token, time.monotonic())
        return hmac.compare_digest(authorization.encode(), f"Bearer {token}".encode())

    def status(self) -> Data:
        """The status as data."""
        picture = self.picture
        data: Data = {"leading": picture.leading, "trouble": picture.trouble}
        if picture.state is None or picture.seen is None or picture.action is None:
            return data
        seen = picture.seen
        now = status(picture.state, seen.roles, seen.slots, seen.lanes, self.names, time.time())
        return {**data, **with_traffic(now, seen, picture.action.why)}

    def alive(self) -> str:
        """Empty, or why the process should be restarted."""
        idle = time.monotonic() - self.picture.turned
        return f"the loop has not turned for {idle:.0f} s" if idle > TURN_S else ""

    def ready(self) -> str:
        """Empty, or why the controller cannot work."""
        if time.monotonic() - self.picture.at > FRESH_S:
            return self.picture.trouble or "the journal was not read for a while"
        return ""


class Handler(BaseHTTPRequestHandler):
    """One connection. Every answer is JSON, or HTML for a browser's GET /status."""

    server: Server
    timeout = SOCKET_S
    protocol_version = "HTTP/1.1"
    server_version = "switchyard-rollout"
    sys_version = ""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path in ("/livez", "/readyz"):
            why = self.server.alive() if parts.path == "/livez" else self.server.ready()
            self._answer(503 if why else 200, {"ok": not why, "why": why})
        elif parts.path in ("/", "/status"):
            data = self.server.status()
            wish = parse_qs(parts.query).get("output", [""])[0]
            if wish != "json" and "text/html" in self.headers.get("Accept", ""):
                self._send(200, "text/html; charset=utf-8", page(data).encode())
            else:
                self._answer(200, data)
        else:
            self._answer(404, {"error": "there is /status, /push, /livez and /readyz"})

    def do_POST(self) -> None:
        if urlsplit(self.path).path != "/push":
            self._answer(404, {"error": "POST /push is the only one"})
            return
        try:
            if not self.server.allows(self.headers.get("Authorization", "")):
                self._answer(401, {"error": "send the webhook's token as a bearer token"})
                return
            edit = self.server.accept_push(self._body())
            self._answer(202 if edit.state else 200, {"said": edit.said})
        except TooLong as error:
            self._answer(413, {"error": str(error)})
        except push.BadPush as error:
            self._answer(400, {"error": str(error)})
        except (RolloutError, BadJournal) as error:
            self._answer(503, {"error": str(error)})

    def _body(self) -> Any:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > MAX_BODY:
            raise TooLong(f"send a body of at most {MAX_BODY} bytes with its length")
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError):
            raise push.BadPush('the body is not JSON: send {"ref": …, "after": …}') from None

    def _answer(self, code: int, data: Data) -> None:
        self._send(code, "application/json", json.dumps(data, ensure_ascii=False).encode())

    def _send(self, code: int, kind: str, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
        # What was not read of a refused body must not be taken for the next request.
        if code >= 400:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Probes every second are not worth a line."""
