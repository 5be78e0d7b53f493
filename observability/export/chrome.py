"""Chrome's trace format, for Perfetto: a process a request, tracks that never overlap."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from observability.agent.events import Record
from observability.session.session import Request

_Event = dict[str, Any]
# A thread's tracks: functions, then waits, then GPU calls, then tokens. Waits begin and end at
# other times than functions do, and slices of one track must nest.
_TRACKS = ("functions", "waiting", "GPU calls", "tokens")


def chrome(requests: Iterable[Request], note: str) -> str:
    """The JSON text. `note` says what was lost."""
    events = [event for i, request in enumerate(requests, 1) for event in _request(i, request)]
    return json.dumps(
        {"traceEvents": events, "displayTimeUnit": "ns", "otherData": {"losses": note}},
        ensure_ascii=False,
    )


def _request(number: int, request: Request) -> Iterator[_Event]:
    name = f"{request.id} {request.intent}".strip()
    yield _meta("process_name", number, 0, name)
    threads = sorted({(r["pid"], r["tid"]) for r in request.records})
    first_track = {thread: i * len(_TRACKS) + 1 for i, thread in enumerate(threads)}
    for (pid, tid), first in first_track.items():
        for offset, what in enumerate(_TRACKS):
            yield _meta(
                "thread_name", number, first + offset, f"{what} (process {pid}, thread {tid})"
            )
    for span in request.spans:
        yield _slice(number, first_track[span.thread], span.function, span.start_ns, span.ns(),
                     {"how": span.how})  # fmt: skip
    for record in request.records:
        yield from _other(number, first_track[record["pid"], record["tid"]], record)


def _other(number: int, first: int, record: Record) -> Iterator[_Event]:
    t_ns = record["t_ns"]
    if record["layer"] == "wait":
        # Waits of one thread may nest: it waits for the GIL off the CPU.
        yield _slice(number, first + 1, record["kind"], t_ns, record["ns"], {})
    elif record["layer"] == "gpu":
        args = {key: record[key] for key in ("bytes", "address", "result", "function")}
        yield _slice(number, first + 2, record["call"], t_ns, record["ns"], args)
    elif record["layer"] == "token":
        args = {"token": record["token"], "why": record["outcome"]}
        yield {"ph": "i", "s": "t", "name": record["kind"], "pid": number, "tid": first + 3,
               "ts": t_ns / 1000, "args": args}  # fmt: skip


def _slice(pid: int, tid: int, name: str, t_ns: int, ns: int, args: _Event) -> _Event:
    return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": t_ns / 1000, "dur": ns / 1000,
            "args": args}  # fmt: skip


def _meta(what: str, pid: int, tid: int, name: str) -> _Event:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}
