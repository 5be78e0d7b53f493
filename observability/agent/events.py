"""Events as records: what a line of a recording is."""

import json
import struct
from typing import Any

from observability.gpu.calls import CALLS

Record = dict[str, Any]

# struct event of bpf/event.h; a perf buffer pads it.
_EVENT = struct.Struct("=QIIHHIQQQQ64s96s")
(_ENTRY, _RETURN, _CREATE, _DESTROY, _CHAIN, _TOKEN, _GPU, _OFF_CPU, _GIL) = range(1, 10)
_HOW = ("return", "yield", "resume", "unwind")
TOKEN_EVENTS = ("generated", "handed", "delivered", "discarded", "received")
OUTCOMES = ("", "client left", "complaint", "stop string", "deadline", "other")
_NESTED = 1
# By `enum why` of waits.c; perf events do not tell.
_RUNNABLE = (False, True, None)


def decode(data: bytes, boot: str) -> Record:
    """The record of one event: when, who, and by its layer:

    python   kind entry, return, yield, resume, unwind; function, frame (0: a plain function)
             kind create, destroy; type, id, bytes
             kind chain; type, id, holders ("A.x <- B.y <- module m", 95 bytes at most)
    token    kind generated, handed (to the server), delivered (before the client left),
             discarded, received (from a model that fires no generated); token (a number), outcome
    gpu      kind, call, api, bytes, address, result (0 is success), ns (how long the call took),
             nested (within another call of the GPU's libraries: not to be added), function
    wait     kind off_cpu, gil; ns, function, and for off_cpu runnable (it wanted to run; None
             where the kernel does not tell)
    """
    t_ns, pid, tid, kind, call, flags, a, b, c, d, request, name = _EVENT.unpack_from(data)
    record: Record = {
        "t_ns": t_ns,
        "boot": boot,
        "pid": pid,
        "tid": tid,
        "layer": "",
        "kind": "",
        "request": _text(request),
    }
    text = _text(name)
    if kind == _ENTRY:
        return record | {"layer": "python", "kind": "entry", "function": text, "frame": a}
    if kind == _RETURN:
        how = _HOW[c] if c < len(_HOW) else "return"
        return record | {"layer": "python", "kind": how, "function": text, "frame": a}
    if kind == _CREATE:
        return record | {"layer": "python", "kind": "create", "type": text, "id": a, "bytes": b}
    if kind == _DESTROY:
        return record | {"layer": "python", "kind": "destroy", "type": text, "id": a}
    if kind == _CHAIN:
        chain: Record = {"kind": "chain", "type": record["request"], "id": a, "holders": text}
        return record | {"layer": "python", "request": ""} | chain
    if kind == _TOKEN:
        what = TOKEN_EVENTS[b] if b < len(TOKEN_EVENTS) else str(b)
        outcome = OUTCOMES[c] if c < len(OUTCOMES) else "other"
        return record | {"layer": "token", "kind": what, "token": a, "outcome": outcome}
    if kind == _GPU:
        return record | _gpu(call, flags, a, b, c, d) | {"function": text}
    if kind == _OFF_CPU:
        why = _RUNNABLE[b] if b < len(_RUNNABLE) else None
        waited: Record = {"kind": "off_cpu", "ns": a, "function": text, "runnable": why}
        return record | {"layer": "wait"} | waited
    if kind == _GIL:
        return record | {"layer": "wait", "kind": "gil", "ns": a, "function": text}
    raise ValueError(f"an event of the unknown kind {kind}")


def ring_record(line: bytes) -> Record | None:
    """The record of a ring's line, whose fields are the request's own; None if it is none, or
    has what cannot be written down again."""
    try:
        record = json.loads(line)
        json.dumps(record, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or not isinstance(record.get("request_id"), str):
        return None
    return record | {"layer": "ring"}


def _gpu(call: int, flags: int, size: int, address: int, result: int, ns: int) -> Record:
    known = CALLS[call]
    return {
        "layer": "gpu",
        "kind": known.kind,
        "call": known.symbol,
        "api": known.api,
        "bytes": size,
        "address": address,
        "result": result,
        "ns": ns,
        "nested": bool(flags & _NESTED),
    }


def _text(raw: bytes) -> str:
    return raw.split(b"\0", 1)[0].decode(errors="replace")
