"""Samples of answered requests, read from a gateway pod's ring."""

import json
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


def urllib_get(url: str, timeout_s: float = 3.0) -> bytes:
    """The real edge: one connection, no retry, no redirect; a body that trickles is given up."""
    end = time.monotonic() + timeout_s
    body = b""
    try:
        with urllib3.PoolManager(retries=False) as pool:
            reply = pool.request(
                "GET",
                url,
                timeout=urllib3.Timeout(total=timeout_s),
                redirect=False,
                preload_content=False,
            )
            while len(body) <= MAX_BYTES and (more := reply.read1(_CHUNK)):
                body += more
                if time.monotonic() > end:
                    raise SamplesUnreadable(f"{url}: not whole within {timeout_s:g} s")
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
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SamplesUnreadable(f"{url}: not a page of samples: {error!r}") from None


def _sample(item: dict[str, Any]) -> Sample:
    return Sample(
        seq=int(item["seq"]),
        t=float(item["t"]),
        client=str(item["client"]),
        synthetic=bool(item["synthetic"]),
        intent=str(item["intent"]),
        status=str(item["status"]),
        http=int(item["http"]),
        first_ms=float(item["first_ms"]),
        total_ms=float(item["total_ms"]),
    )


def window(samples: Iterable[Sample], since: float, until: float) -> list[Sample]:
    """The customers' samples with since <= t < until; synthetic ones are left out."""
    return [s for s in samples if since <= s.t < until and not s.synthetic]
