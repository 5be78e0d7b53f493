"""Samples of answered requests, read from a gateway pod's ring."""

import json
import math
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import urllib3

MAX_BYTES = 8 << 20
_CHUNK = 1 << 16
PAGE = 2000


class SamplesUnreadable(Exception):
    """A pod whose samples could not be read; one line with the reason."""


@dataclass(frozen=True)
class Sample:
    """One request. `t` is unix seconds at its end, `client` a short hash, times in ms."""

    seq: int
    t: float
    client: str
    synthetic: bool
    intent: str
    status: str
    http: int
    first_ms: float
    total_ms: float


class Get(Protocol):
    """The edge: fetch one URL, at most `MAX_BYTES`. Raises SamplesUnreadable."""

    def __call__(self, url: str) -> bytes:
        """The body of a 200 reply."""


class _Bounded(socket.socket):
    """A socket that gives up at `end` (of time.monotonic), however steadily bytes trickle in."""

    end = math.inf

    def recv_into(self, *args: Any) -> int:
        """See socket.socket."""
        self.settimeout(max(self.end - time.monotonic(), 0.001))
        return super().recv_into(*args)


class _Connection(urllib3.connection.HTTPConnection):
    """Its timeout is for the whole reply: its head too, which nobody else counts."""

    def connect(self) -> None:
        """See http.client.HTTPConnection."""
        super().connect()
        bounded = _Bounded(fileno=self.sock.detach())
        bounded.end = time.monotonic() + float(self.timeout or 0)
        self.sock = bounded


def urllib_get(url: str, timeout_s: float = 3.0) -> bytes:
    """The real edge: one connection, no retry, no redirect; a reply that trickles is given up."""
    body = b""
    try:
        with urllib3.connection_from_url(url, retries=False) as pool:
            pool.ConnectionCls = _Connection
            reply = pool.request(
                "GET",
                urllib3.util.parse_url(url).request_uri,
                timeout=urllib3.Timeout(total=timeout_s),
                redirect=False,
                preload_content=False,
            )
            while len(body) <= MAX_BYTES and (more := reply.read1(_CHUNK)):
                body += more
    except urllib3.exceptions.ReadTimeoutError:
        raise SamplesUnreadable(f"{url}: not whole within {timeout_s:g} s") from None
    except urllib3.exceptions.HTTPError as error:
        raise SamplesUnreadable(f"{url}: {' '.join(str(error).split())[:200]}") from None
    if reply.status != 200:
        raise SamplesUnreadable(f"{url}: HTTP {reply.status}")
    if len(body) > MAX_BYTES:
        raise SamplesUnreadable(f"{url}: more than {MAX_BYTES} bytes; ask for fewer samples")
    return body


def fetch(
    pod_base_url: str, after: int, *, limit: int = PAGE, get: Get = urllib_get
) -> tuple[str, int, list[Sample]]:
    """The samples after sequence number `after`: (boot, next, samples).

    `boot` names the process: when it changes, sequence numbers start again at 0.
    `next` is the `after` of the next call; fewer than `limit` samples are all there are.
    """
    url = f"{pod_base_url.rstrip('/')}/samples?after={after}&limit={limit}"
    try:
        document = json.loads(get(url))
        samples = [_sample(item) for item in document["samples"]]
        return str(document["boot"]), int(document["next"]), samples
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise SamplesUnreadable(f"{url}: not a page of samples: {error!r}") from None


def _sample(item: dict[str, Any]) -> Sample:
    return Sample(
        seq=int(item["seq"]),
        t=_finite(item["t"]),
        client=str(item["client"]),
        synthetic=bool(item["synthetic"]),
        intent=str(item["intent"]),
        status=str(item["status"]),
        http=int(item["http"]),
        first_ms=_finite(item["first_ms"]),
        total_ms=_finite(item["total_ms"]),
    )


def _finite(value: Any) -> float:
    """NaN is neither above a limit nor below it: nothing would be too slow."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value} is no time")
    return number


def window(samples: Iterable[Sample], since: float, until: float) -> list[Sample]:
    """The customers' samples with since <= t < until; synthetic ones are left out."""
    return [s for s in samples if since <= s.t < until and not s.synthetic]
