"""uvicorn's HTTP/1.1 connection, with the bounds that it leaves open."""

import asyncio
import json
import socket
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 2048
REQUEST_S = 10.0
# The application answers a slow body itself (408); this is for what never becomes a request.
GRACE_S = 5.0
TAKE_S = 10.0

_BAD = {"error": "this is not an HTTP/1.1 request we can read", "do": "use an HTTP client"}


class Connection(H11Protocol):
    """Closes a connection whose client takes too long to send a request or to take its
    reply, and refuses more than MAX_CONNECTIONS of them."""

    _deadline: asyncio.TimerHandle | None = None
    _taking: asyncio.TimerHandle | None = None
    _awaited = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # asyncio leaves it out for our own listening socket; without it each reply after the
        # first waits for the client's delayed acknowledgement (40 ms).
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
            return
        self._awaited = "head"
        self._deadline = self.loop.call_later(REQUEST_S, self._too_slow)

    def connection_lost(self, exc: Exception | None) -> None:
        self._disarm()
        self.resume_writing()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        phase = self._phase()
        # Only a change counts: a client that trickles bytes does not win time by it.
        if phase == self._awaited or self.transport.is_closing():
            return
        self._awaited = phase
        self._disarm()
        if phase:
            seconds = REQUEST_S if phase == "head" else REQUEST_S + GRACE_S
            self._deadline = self.loop.call_later(seconds, self._too_slow)

    def _phase(self) -> str:
        """What of a request is on its way: "head", "body" or ""."""
        if self.conn.their_state is h11.SEND_BODY:
            return "body"
        partial = self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])
        return "head" if partial else ""

    def pause_writing(self) -> None:
        # Closing would first wait for the client to take what is buffered; aborting does not.
        self._taking = self.loop.call_later(TAKE_S, self.transport.abort)
        super().pause_writing()

    def resume_writing(self) -> None:
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        """The client has been silent since its last reply; it may not even have taken it."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            super().timeout_keep_alive_handler()

    def send_400_response(self, msg: str) -> None:
        """The one clear line that every refusal has."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            body = json.dumps(_BAD).encode()
            headers = [
                (b"content-type", b"application/json"),
                (b"content-length", str(len(body)).encode()),
                (b"connection", b"close"),
            ]
            events: list[Any] = [
                h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ]
            for event in events:
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None:
            # The bad bytes were a body's: its application is answering, and must not any more.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.transport.close()

    def _too_slow(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()

    def _disarm(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
