"""Whether the GPU's memory is nearly full, as the node's tracing agent says.

The agent is an observer: silent, slow, wrong or gone, it changes nothing. So it is asked in a
thread of its own, where a name that does not resolve holds nobody up.
"""

import json
import logging
import math
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

log = logging.getLogger(__name__)

EVERY_S = 1.0
ANSWER_S = 2.0
STALE_S = 10.0
MAX_BYTES = 64 * 1024
WHY = "the GPU's memory is nearly full"


class Unreadable(ValueError):
    """A reply that says nothing about GPUs; one line."""


class Pressure:
    """Asks `url` (the agent's /gpu) once a second, from `start` on as long as the process lives.

    `get` gives the body of a 200 reply; its errors are OSError and ValueError.
    """

    def __init__(
        self,
        url: str,
        get: Callable[[str], bytes] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._get = get or fetch
        self._clock = clock
        # One tuple, so that another thread sees all of it or what was before.
        self._state = (False, float("-inf"))
        self._said: float | None = None
        self._told = False

    @property
    def pressed(self) -> bool:
        """Whether a GPU was short of memory in the last seconds; what is not known is not so."""
        pressed, since = self._state
        return pressed and self._clock() - since <= STALE_S

    def start(self) -> None:
        """Begin to ask."""
        threading.Thread(target=self._run, name="gpu-state", daemon=True).start()

    def ask(self) -> None:
        """Ask once; what fails is said once and changes nothing."""
        try:
            said, pressed = read(self._get(self._url))
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
        self._said, self._state = said, (pressed, self._clock())

    def _run(self) -> None:
        while True:
            try:
                self.ask()
            except Exception:  # a fault of ours: answers go on, and so do we
                log.exception("the GPU's state")
            time.sleep(EVERY_S)


def read(body: bytes) -> tuple[float, bool]:
    """When the agent looked (unix seconds of its clock), and whether a GPU is short of memory."""
    try:
        said = json.loads(body)
        at, pressed = said["t_unix"], said["pressed"]
        if isinstance(pressed, bool) and type(at) in (int, float) and math.isfinite(at):
            return float(at), pressed
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        pass
    # A time that is no number would differ from itself, and never stand still.
    raise Unreadable("the reply is not the state of GPUs")


def fetch(url: str) -> bytes:
    """One GET, at most MAX_BYTES in about ANSWER_S. Errors: OSError, Unreadable."""
    where, end = urlsplit(url), time.monotonic() + ANSWER_S
    connection = HTTPConnection(where.hostname or "", where.port or 80, timeout=ANSWER_S)
    try:
        connection.request("GET", where.path or "/", headers={"Connection": "close"})
        body = b""
        with connection.getresponse() as reply:
            while more := reply.read1(MAX_BYTES):
                body += more
                if len(body) > MAX_BYTES or time.monotonic() > end:
                    raise Unreadable(f"{url} does not come to an end")
    except HTTPException as error:
        raise Unreadable(f"{url} answers no HTTP: {_line(error)}") from None
    finally:
        connection.close()
    if reply.status != 200:
        raise Unreadable(f"{url} answers {reply.status}")
    return body


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
