"""Hand a complaint to the tickets service: one HTTP request, a deadline, safe to repeat."""

import contextlib
import http.client
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from apps.pipeline.failure import Unavailable

DEADLINE_S = 3.0
_PAUSE_S = 0.1
_MAX_REPLY = 64 * 1024


@dataclass(frozen=True)
class Complaint:
    """The body of `POST /v1/tickets`: one ticket for a (customer, message_id), however often."""

    assertion: str
    message_id: str
    query: str
    language: str


@dataclass(frozen=True)
class Ticket:
    """The service's answer: the number people quote, and whether this request created it."""

    id: str
    created: bool


class Tickets:
    """A client that keeps one connection open. Not for use by several threads."""

    def __init__(self, url: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            raise ValueError(f"TICKETS_URL must look like http://host:port, not {url!r}")
        self._host, self._port = parts.hostname, parts.port or 80
        self._clock = clock
        self._connection: http.client.HTTPConnection | None = None

    def open(self, complaint: Complaint, *, deadline_s: float = DEADLINE_S) -> Ticket:
        """The complaint's ticket. Repeats after a broken connection or a 5xx until the deadline;
        raises Unavailable after it, or at once when the service refuses the request (4xx)."""
        body = json.dumps(complaint.__dict__).encode()
        end = self._clock() + deadline_s
        reason = "tickets did not answer in time"
        while (left := end - self._clock()) > 0:
            try:
                status, reply = self._post(body, left)
            except (OSError, http.client.HTTPException):
                self.close()
                reason = "tickets cannot be reached"
            else:
                if status in (200, 201):
                    return _ticket(reply)
                if status < 500:
                    raise Unavailable(f"tickets refused the complaint (status {status})")
                reason = f"tickets failed (status {status})"
            time.sleep(min(_PAUSE_S, max(0.0, end - self._clock())))
        raise Unavailable(reason)

    def close(self) -> None:
        """Forget the connection; the next request opens a new one."""
        if self._connection is not None:
            with contextlib.suppress(OSError):
                self._connection.close()
        self._connection = None

    def _post(self, body: bytes, timeout_s: float) -> tuple[int, bytes]:
        connection = self._connection
        if connection is None:
            connection = http.client.HTTPConnection(self._host, self._port)
            self._connection = connection
        connection.timeout = timeout_s
        if connection.sock is not None:
            connection.sock.settimeout(timeout_s)
        connection.request("POST", "/v1/tickets", body, {"Content-Type": "application/json"})
        with connection.getresponse() as response:
            reply = response.read(_MAX_REPLY + 1)
            if not response.isclosed():
                self.close()
            return response.status, reply


def _ticket(reply: bytes) -> Ticket:
    try:
        fields: Any = json.loads(reply)
        return Ticket(str(fields["id"]), bool(fields["created"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Unavailable("tickets gave an answer that is not a ticket") from None
