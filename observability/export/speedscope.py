"""speedscope's file format: one evented profile for each thread that a request ran on."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from observability.session.calls import Span, Thread
from observability.session.session import Request

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


class _Frames:
    """Each function once; the events name it by number."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}

    def index(self, name: str) -> int:
        return self.names.setdefault(name, len(self.names))


def speedscope(requests: Iterable[Request], note: str) -> str:
    """The JSON text. `note` (what was lost) becomes part of its name."""
    frames = _Frames()
    profiles = [
        _profile(frames, request, thread, roots)
        for request in requests
        for thread, roots in _by_thread(request.spans).items()
    ]
    return json.dumps(
        {
            "$schema": _SCHEMA,
            "shared": {"frames": [{"name": name} for name in frames.names]},
            "profiles": profiles,
            "name": note,
            "exporter": "switchyard",
        },
        ensure_ascii=False,
    )


def _by_thread(spans: Iterable[Span]) -> dict[Thread, list[Span]]:
    threads: dict[Thread, list[Span]] = {}
    for span in spans:
        if span.parent is None:
            threads.setdefault(span.thread, []).append(span)
    return threads


def _profile(
    frames: _Frames, request: Request, thread: Thread, roots: list[Span]
) -> dict[str, Any]:
    pid, tid = thread
    return {
        "type": "evented",
        "name": f"{request.id} {request.intent} (process {pid}, thread {tid})",
        "unit": "nanoseconds",
        "startValue": roots[0].start_ns,
        "endValue": roots[-1].end_ns,
        "events": [event for root in roots for event in _events(frames, root)],
    }


def _events(frames: _Frames, root: Span) -> Iterator[dict[str, Any]]:
    # Not by recursion: functions nest deeper than Python's own limit.
    open_spans: list[tuple[Span, Iterator[Span]]] = [(root, iter(root.children))]
    yield _event("O", frames.index(root.function), root.start_ns)
    while open_spans:
        span, children = open_spans[-1]
        child = next(children, None)
        if child is None:
            yield _event("C", frames.index(span.function), span.end_ns)
            open_spans.pop()
        else:
            yield _event("O", frames.index(child.function), child.start_ns)
            open_spans.append((child, iter(child.children)))


def _event(kind: str, frame: int, at: int) -> dict[str, Any]:
    return {"type": kind, "frame": frame, "at": at}
