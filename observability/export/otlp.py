"""OTLP/JSON traces: a span a request with `gen_ai.*` attributes, a span a function below it."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any

from observability.session.calls import Span
from observability.session.session import Request, Session

_Json = dict[str, Any]
_INTERNAL, _SERVER = 1, 2


def otlp(session: Session, requests: Iterable[Request]) -> str:
    """The JSON text of one ExportTraceServiceRequest."""
    offset = int(session.header.get("realtime_offset_ns", 0))
    spans = [span for request in requests if request.records for span in _spans(request, offset)]
    resource = {
        "service.name": "switchyard",
        "host.name": session.header.get("node", ""),
        "switchyard.boot_id": session.header.get("boot", ""),
        "switchyard.events_lost": session.loss().lost,
    }
    scope = {"name": "switchyard.observability"}
    return json.dumps(
        {
            "resourceSpans": [
                {
                    "resource": {"attributes": _attributes(resource)},
                    "scopeSpans": [{"scope": scope, "spans": spans}],
                }
            ]
        },
        ensure_ascii=False,
    )


def _spans(request: Request, offset: int) -> Iterator[_Json]:
    trace = _trace_id(request)
    root = _id(trace, "request")
    yield {
        "traceId": trace,
        "spanId": root,
        "name": f"chat {request.intent}".strip(),
        "kind": _SERVER,
        "startTimeUnixNano": str(request.start_ns + offset),
        "endTimeUnixNano": str(request.end_ns + offset),
        "attributes": _attributes(_of_request(request)),
    }
    ids: dict[int, str] = {}
    for number, span in enumerate(request.spans):
        ids[id(span)] = _id(trace, str(number))
        yield {
            "traceId": trace,
            "spanId": ids[id(span)],
            "parentSpanId": ids[id(span.parent)] if span.parent else root,
            "name": span.function,
            "kind": _INTERNAL,
            "startTimeUnixNano": str(span.start_ns + offset),
            "endTimeUnixNano": str(span.end_ns + offset),
            "attributes": _attributes(_of_span(span)),
        }


def _of_request(request: Request) -> _Json:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "switchyard",
        "gen_ai.conversation.id": request.id,
        "switchyard.intent": request.intent,
        "switchyard.lane": str(request.line.get("lane") or ""),
        "switchyard.release": str(request.line.get("release") or ""),
        "switchyard.gpu.held_bytes": request.memory.bytes,
        **_of_tokens(request),
    }


def _of_tokens(request: Request) -> _Json:
    if not any(record["layer"] == "token" for record in request.records):
        return {}  # nobody told of its tokens: they are not 0
    return {
        "gen_ai.usage.output_tokens": request.tokens("generated"),
        "switchyard.tokens.delivered": request.tokens("delivered"),
        "switchyard.tokens.discarded": request.tokens("discarded"),
    }


def _of_span(span: Span) -> _Json:
    return {
        "thread.id": span.thread[1],
        "process.pid": span.thread[0],
        "switchyard.off_cpu_ns": span.off_cpu_ns,
        "switchyard.gil_ns": span.gil_ns,
        "switchyard.gpu.allocated_bytes": span.gpu_bytes,
    }


def _attributes(values: _Json) -> list[_Json]:
    return [
        {"key": key, "value": {"intValue": str(v)} if isinstance(v, int) else {"stringValue": v}}
        for key, v in values.items()
    ]


def _trace_id(request: Request) -> str:
    return hashlib.sha256(request.id.encode()).hexdigest()[:32]


def _id(trace: str, what: str) -> str:
    return hashlib.sha256(f"{trace} {what}".encode()).hexdigest()[:16]
