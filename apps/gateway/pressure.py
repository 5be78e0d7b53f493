"""Whether the GPU's memory is nearly full, as the node's tracing agent says.

The agent is an observer: silent, slow, wrong or gone, it changes nothing.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

log = logging.getLogger(__name__)

EVERY_S = 1.0
ANSWER_S = 2.0
STALE_S = 10.0
MAX_BYTES = 64 * 1024
WHY = "the GPU's memory is nearly full"

Get = Callable[[str], Awaitable[bytes]]
"""The edge: the body of a 200 reply. Raises OSError or ValueError."""


class Unreadable(ValueError):
    """A reply that says nothing about GPUs; one line."""


class Pressure:
    """Asks `url` (the agent's /gpu) once a second while `run` runs."""

    def __init__(
        self,
        url: str,
        get: Get | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._get = get or fetch
        self._clock = clock
        self._pressed = False
        self._said: float | None = None
        self._since = float("-inf")
        self._told = False

    @property
    def pressed(self) -> bool:
        """Whether a GPU was short of memory in the last seconds; what is not known is not so."""
        return self._pressed and self._clock() - self._since <= STALE_S

    async def run(self) -> None:
        """Ask until cancelled."""
        while True:
            await self.ask()
            await asyncio.sleep(EVERY_S)

    async def ask(self) -> None:
        """Ask once. Never raises."""
        try:
            async with asyncio.timeout(ANSWER_S):
                said, pressed = read(await self._get(self._url))
        except (OSError, ValueError) as error:
            if not self._told:
                log.warning("the GPU's state is not known: %s", _line(error))
            self._told = True
            return
        self._told = False
        if said == self._said:
            return  # the agent stands still: what it said grows stale
        if pressed and not self.pressed:
            log.warning("%s: answers are without the model's words until it is not", WHY)
        self._said, self._pressed, self._since = said, pressed, self._clock()


def read(body: bytes) -> tuple[float, bool]:
    """When the agent looked (unix seconds of its clock), and whether a GPU is short of memory."""
    try:
        said = json.loads(body)
        at, pressed = said["t_unix"], said["pressed"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Unreadable("the reply is not the state of GPUs") from None
    if not isinstance(pressed, bool) or isinstance(at, bool) or not isinstance(at, int | float):
        raise Unreadable("the reply is not the state of GPUs")
    return float(at), pressed


async def fetch(url: str) -> bytes:
    """One GET on a connection of its own, of at most MAX_BYTES. Errors: OSError, ValueError."""
    where = urlsplit(url)
    reader, writer = await asyncio.open_connection(
        where.hostname, where.port or 80, limit=MAX_BYTES
    )
    try:
        path = where.path or "/"
        writer.write(f"GET {path} HTTP/1.0\r\nHost: {where.netloc}\r\n\r\n".encode("ascii"))
        reply = b""
        while len(reply) <= MAX_BYTES and (more := await reader.read(MAX_BYTES)):
            reply += more
    finally:
        writer.close()
    head, end, body = reply.partition(b"\r\n\r\n")
    if not end or len(reply) > MAX_BYTES or head.split(b" ")[1:2] != [b"200"]:
        raise Unreadable(f"{url} answers {head[:60].decode('ascii', 'replace')!r}")
    return body


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
