"""What is known of one request when it ends: its log line and its sample."""

import json
import sys
import time
from dataclasses import dataclass, field
from typing import Any, TextIO

from apps.gateway.directory import Customer
from apps.gateway.meter import Books
from apps.gateway.samples import Samples
from apps.gateway.stages import Stages
from observability.ring import Requests
from observability.tokens import Account

GONE_HTTP = 499


@dataclass(slots=True)
class Record:
    """Filled while a request is served. `started` is monotonic; nothing here is the customer's
    text, name or token."""

    request_id: str
    method: str
    path: str
    started: float
    customer: Customer | None = None
    http: int = 0
    status: str = ""
    intent: str = ""
    reason: str | None = None
    first_ms: float = 0.0
    total_ms: float = 0.0
    words: int = 0
    stages: Stages = field(default_factory=Stages)
    books: Books = field(default_factory=lambda: Books(Account("", 0)))

    def elapsed_ms(self) -> float:
        """Milliseconds since the request came in."""
        return (time.monotonic() - self.started) * 1000


class Journal:
    """Where records go: one JSON line each, and for chat requests a sample and a line in the
    ring, which outlives this process."""

    def __init__(
        self,
        lane: str,
        samples: Samples,
        out: TextIO = sys.stdout,
        requests: Requests | None = None,
    ) -> None:
        self._lane = lane
        self._samples = samples
        self._out = out
        self._requests = requests

    def ended(self, record: Record, *, chat: bool) -> None:
        """Write the record down."""
        now = time.time()
        client = self._samples.client(record.customer.id) if record.customer else ""
        synthetic = record.customer is not None and record.customer.synthetic
        if chat:
            self._samples.add(
                t=now,
                client=client,
                synthetic=synthetic,
                intent=record.intent,
                status=record.status,
                http=record.http,
                first_ms=round(record.first_ms, 1),
                total_ms=round(record.total_ms, 1),
            )
        line: dict[str, Any] = {
            "t": round(now, 3),
            "lane": self._lane,
            "request_id": record.request_id,
            "method": record.method,
            "path": record.path,
            "http": record.http,
            "status": record.status,
            "total_ms": round(record.total_ms, 1),
        }
        if chat:
            line |= {
                "client": client,
                "synthetic": synthetic,
                "intent": record.intent,
                "reason": record.reason,
                "first_ms": round(record.first_ms, 1),
                "words": record.words,
            }
            if self._requests:
                self._requests.ended(line | _inside(record))
        self._out.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._out.flush()


def _inside(record: Record) -> dict[str, Any]:
    """What nobody but an engineer asks for."""
    return {
        "stages_ns": record.stages.ns,
        "prompt_tokens": record.books.prompt,
        "cache_hit": record.books.cache_hit,
        "tokens": record.books.account.summary(),
    }
