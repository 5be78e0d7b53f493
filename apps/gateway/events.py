"""What a reply is made of, and its two forms: server-sent events and one JSON object."""

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Meta:
    """Known before the first word. `facts`, `citations`, `omitted` and `ticket` are as the
    pipeline names them."""

    intent: str
    language: str
    facts: list[dict[str, Any]] = field(default_factory=list)
    omitted: list[dict[str, str]] = field(default_factory=list)
    ticket: dict[str, Any] | None = None
    citations: list[dict[str, Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Delta:
    """More of the reply's text: whole characters, never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class Done:
    """How it ended: status ok, degraded or stopped, and all that was left out."""

    status: str
    reason: str | None = None
    omitted: list[dict[str, str]] = field(default_factory=list)
    unsupported: list[str] = field(default_factory=list)


Event = Meta | Delta | Done


def sse(kind: str, data: dict[str, Any]) -> bytes:
    """One server-sent event; JSON never holds a raw line end, so one data line is enough."""
    return f"event: {kind}\ndata: {_json(data)}\n\n".encode()


def meta_fields(meta: Meta) -> dict[str, Any]:
    """The fields of the `meta` event."""
    return {
        "intent": meta.intent,
        "language": meta.language,
        "ticket": meta.ticket,
        "facts": meta.facts,
        "citations": meta.citations,
        "omitted": meta.omitted,
    }


def done_fields(done: Done, first_ms: float, total_ms: float) -> dict[str, Any]:
    """The fields of the `done` event; times in milliseconds since the request came in."""
    return {
        "status": done.status,
        "reason": done.reason,
        "omitted": done.omitted,
        "unsupported": done.unsupported,
        "latency_ms": {"first": round(first_ms, 1), "total": round(total_ms, 1)},
    }


def json_body(data: dict[str, Any]) -> bytes:
    """One JSON object as UTF-8."""
    return _json(data).encode()


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))
