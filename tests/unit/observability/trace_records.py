"""Records as the agent writes them, with only what a test cares about."""

from typing import Any

Record = dict[str, Any]


def python(t_ns: int, kind: str, function: str, **more: Any) -> Record:
    record = {"t_ns": t_ns, "boot": "b", "pid": 1, "tid": 1, "layer": "python", "kind": kind,
              "request": "r1", "function": function, "frame": 0}  # fmt: skip
    return record | more


def gpu(t_ns: int, kind: str, call: str, size: int, address: int, **more: Any) -> Record:
    record = {"t_ns": t_ns, "boot": "b", "pid": 1, "tid": 1, "layer": "gpu", "kind": kind,
              "request": "r1", "call": call, "api": "runtime", "bytes": size, "address": address,
              "result": 0, "ns": 10, "nested": False, "function": "f"}  # fmt: skip
    return record | more


def wait(t_ns: int, kind: str, ns: int, **more: Any) -> Record:
    record = {"t_ns": t_ns, "boot": "b", "pid": 1, "tid": 1, "layer": "wait", "kind": kind,
              "request": "r1", "ns": ns, "function": "f"}  # fmt: skip
    return record | more


def token(t_ns: int, kind: str, number: int, outcome: str = "", **more: Any) -> Record:
    record = {"t_ns": t_ns, "boot": "b", "pid": 1, "tid": 1, "layer": "token", "kind": kind,
              "request": "r1", "token": number, "outcome": outcome}  # fmt: skip
    return record | more


def loss(sent: int, read: int, lost: int) -> Record:
    return {"layer": "loss", "t_ns": 0, "buffer": "ring", "sent": sent, "read": read, "lost": lost}


HEADER: Record = {
    "layer": "header",
    "format": 1,
    "boot": "b",
    "t_ns": 0,
    "realtime_offset_ns": 1000,
    "node": "n",
    "kernel": "k",
    "release": "",
}


def incident() -> list[Record]:
    """Three functions, a coroutine among them, memory that stays, and a client that leaves."""
    return [
        HEADER,
        python(100, "entry", "chat", frame=7),
        python(110, "entry", "load"),
        gpu(112, "alloc", "cudaMalloc", 4096, 0x10),
        gpu(113, "alloc", "cuMemAlloc_v2", 4096, 0x10, nested=True, ns=5),
        python(130, "return", "load"),
        python(140, "yield", "chat", frame=7),
        python(200, "resume", "chat", frame=7),
        wait(205, "off_cpu", 20),
        token(230, "generated", 0),
        token(231, "generated", 1),
        token(232, "delivered", 0),
        token(233, "discarded", 1, "client left"),
        python(240, "return", "chat", frame=7),
        {"request_id": "r1", "intent": "complaint", "lane": "blue", "release": "7"},
        loss(13, 12, 1),
    ]
