"""The accounting around an ASGI application; it changes no byte and no message."""

import asyncio
import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from observability.tokens.account import Account, Fire, Reason
from observability.tokens.body import Counter


class TokenAccounting:
    """Puts an Account into `scope["tokens"]`; `done` gets it too, when the request has ended.

    `name` says the request's id. An application that `reports` enters every token itself, and
    the bytes of its reply are not looked at. A client that leaves is noticed by whoever reads from
    `receive`: the application, or we while it reads nothing.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        name: Callable[[Scope], str],
        done: Callable[[Scope, Account], None] = lambda scope, account: None,
        fire: Fire | None = None,
        reports: bool = False,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self._app = app
        self._done = done
        self._name = name
        self._fire = fire
        self._reports = reports
        self._clock_ns = clock_ns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began_ns, name = self._clock_ns(), self._name(scope)
        account = Account(name, began_ns, self._fire, reports=self._reports)
        scope["tokens"] = account
        client = _Client(receive, account)
        reply = _Reply(send, account, client, None if self._reports else self._clock_ns)
        try:
            await self._app(scope, client.receive, reply.send)
        except Exception:
            account.throw_away(Reason.FAILED)
            raise
        finally:
            client.forget()
            account.close()
            self._done(scope, account)


class _Client:
    """The one reader of the server's `receive`."""

    def __init__(self, receive: Receive, account: Account) -> None:
        self._receive = receive
        self._account = account
        self._reading = 0
        self._body_over = False
        self._watch: asyncio.Task[Message] | None = None
        self.gone = False
        self.served = False
        """Whether the reply is complete: who leaves then has missed nothing."""

    async def receive(self) -> Message:
        """The application's `receive`."""
        if self._watch is not None:
            # Shared: the application may be cancelled, the message must not be lost.
            return await asyncio.shield(self._watch)
        self._reading += 1
        try:
            return self._seen(await self._receive())
        finally:
            self._reading -= 1

    def watch(self) -> None:
        """Read until the client leaves, if nobody does and the request's body is over."""
        if self._body_over and not self._reading and self._watch is None:
            self._watch = asyncio.create_task(self._next())

    def forget(self) -> None:
        """The request is over."""
        if self._watch is not None:
            self._watch.cancel()

    async def _next(self) -> Message:
        return self._seen(await self._receive())

    def _seen(self, message: Message) -> Message:
        if message["type"] == "http.disconnect":
            if not self.served:
                self.gone = True
                self._account.throw_away(Reason.CLIENT_LEFT)
        elif not message.get("more_body"):
            self._body_over = True
        return message


class _Reply:
    """Sees what is sent."""

    def __init__(
        self,
        send: Send,
        account: Account,
        client: _Client,
        counting: Callable[[], int] | None,
    ) -> None:
        self._send = send
        self._account = account
        self._client = client
        self._counting = counting
        self._counter: Counter | None = None

    async def send(self, message: Message) -> None:
        """The application's `send`."""
        if message["type"] == "http.response.start":
            if self._counting:
                self._counter = Counter(message.get("headers", ()), self._account, self._counting)
            self._client.watch()
        elif message["type"] == "http.response.body":
            more = bool(message.get("more_body"))
            if self._counter:
                self._counter.body(message.get("body", b""), more=more)
            self._account.handed()
            self._client.served = not (more or self._client.gone)
        await self._send(message)
        if not self._client.gone:
            self._account.delivered()
