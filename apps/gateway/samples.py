"""The last requests as samples, for whoever judges this lane."""

import hashlib
import secrets
from collections import deque
from dataclasses import asdict, dataclass
from typing import Any

KEPT = 10_000


@dataclass(frozen=True, slots=True)
class Sample:
    """One chat request. `t` is unix seconds at its end, `client` a short hash, times in ms."""

    seq: int
    t: float
    client: str
    synthetic: bool
    intent: str
    status: str
    http: int
    first_ms: float
    total_ms: float


class Samples:
    """A ring of the last `KEPT` samples; `boot` tells one process from the next."""

    def __init__(self, key: bytes) -> None:
        self.boot = secrets.token_hex(8)
        self._key = key
        self._ring: deque[Sample] = deque(maxlen=KEPT)
        self._last = 0

    def client(self, customer: str) -> str:
        """A short keyed hash: the same customer is recognised, and not named."""
        return hashlib.blake2s(customer.encode(), key=self._key, digest_size=6).hexdigest()

    def add(self, **fields: Any) -> None:
        """Append a sample; it gets the next sequence number, starting at 1."""
        self._last += 1
        self._ring.append(Sample(seq=self._last, **fields))

    def page(self, after: int, limit: int) -> dict[str, Any]:
        """Up to `limit` samples after sequence number `after`, oldest first."""
        first = self._last - len(self._ring)
        start = min(max(after - first, 0), len(self._ring))
        stop = min(start + limit, len(self._ring))
        picked = [self._ring[i] for i in range(start, stop)]
        return {
            "boot": self.boot,
            "next": picked[-1].seq if picked else max(min(after, self._last), first),
            "samples": [asdict(sample) for sample in picked],
        }
