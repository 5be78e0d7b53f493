"""What the page is given: a session as JSON that a browser reads in one go."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import zip_longest
from typing import Any

from observability.export.notes import notes
from observability.session.calls import Span
from observability.session.session import Loss, Request, Session
from observability.view.cells import BINS, axis, cells
from observability.view.findings import findings, uses
from observability.view.resources import RESOURCES

# More would make the page slow to open; the rest of the requests keep their row in the list.
MOST_SPANS = 60_000
_Json = dict[str, Any]


def data(session: Session, loss: Loss, most_spans: int = MOST_SPANS) -> _Json:
    """Numbers instead of names wherever something repeats; times in nanoseconds, a request's
    relative to the first of all, a span's to its request."""
    requests = sorted(session.requests.values(), key=lambda request: request.start_ns)
    scenarios = sorted({request.intent for request in requests})
    time = axis(requests)
    names: dict[str, int] = {}
    used = {request.id: uses(request) for request in requests}
    shown = _shown(requests, used, most_spans)
    return {
        "loss": str(loss),
        "complete": loss.lost == 0 and loss.bad == 0,
        "node": session.header.get("node", ""),
        "began_ms": (time.start_ns + session.header.get("realtime_offset_ns", 0)) // 1_000_000,
        "bins": BINS,
        "bin_ns": time.width_ns,
        "scenarios": [name or "unknown" for name in scenarios],
        "resources": [{"key": r.key, "label": r.label, "unit": r.unit} for r in RESOURCES],
        "cells": [[*cell, amount] for cell, amount in cells(requests, scenarios, time).items()],
        "findings": [asdict(finding) for finding in findings(requests, used)],
        "gpus": notes(session),
        "requests": [
            _request(request, scenarios.index(request.intent), time.start_ns, used[request.id])
            | (_calls(request, names) if request.id in shown else {})
            for request in requests
        ],
        "functions": list(names),
    }


def _shown(requests: Sequence[Request], used: Mapping[str, Sequence[int]], room: int) -> set[str]:
    """The requests that get their spans: in turn the next that used most of each resource, and
    the next that took longest."""
    rankings = [
        sorted(filter(amount, requests), key=amount, reverse=True)
        for amount in [
            *(_amount(used, number) for number in range(len(RESOURCES))),
            lambda request: request.end_ns - request.start_ns,
        ]
    ]
    shown: set[str] = set()
    for together in zip_longest(*rankings):
        for request in filter(None, together):
            if request.id not in shown and len(request.spans) <= room:
                shown.add(request.id)
                room -= len(request.spans)
    return shown


def _amount(used: Mapping[str, Sequence[int]], number: int) -> Callable[[Request], int]:
    return lambda request: used[request.id][number]


def _request(request: Request, scenario: int, start_ns: int, used: Sequence[int]) -> _Json:
    return {
        "id": request.id,
        "scenario": scenario,
        "at": request.start_ns - start_ns if request.records else 0,
        "ns": request.end_ns - request.start_ns,
        "uses": used,
        "line": {key: value for key, value in request.line.items() if key != "layer"},
    }


def _calls(request: Request, names: dict[str, int]) -> _Json:
    return {
        "spans": list(_spans(request.spans, request.start_ns, names)),
        "holders": request.memory.by_holder(),
        "failed": [[call, code, n] for (call, code), n in request.memory.failed.items()],
    }


def _spans(spans: Iterable[Span], start_ns: int, names: dict[str, int]) -> Iterable[list[int]]:
    """[function, parent (its place in this list) or -1, thread, start, length, first stretch?,
    a use for each resource]"""
    place: dict[int, int] = {}
    for number, span in enumerate(spans):
        place[id(span)] = number
        yield [
            names.setdefault(span.function, len(names)),
            place[id(span.parent)] if span.parent else -1,
            span.thread[1],
            span.start_ns - start_ns,
            span.ns(),
            int(span.first),
            *(resource.of(span) for resource in RESOURCES),
        ]
