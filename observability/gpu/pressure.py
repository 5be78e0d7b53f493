"""How full each GPU's memory is: what a gateway degrades on."""

from collections.abc import Iterable
from typing import Any

from observability.agent.events import Record
from observability.gpu.rules import memory_share

PRESSED = 0.98


def pressure(readings: Iterable[Record], t_unix: float) -> dict[str, Any]:
    """The answer of /gpu, from the last reading of each GPU; `t_unix` is when they were read.

    A share that a GPU does not tell is None, and then nobody knows whether it is pressed."""
    gpus = [_gpu(record["fields"]) for record in readings]
    return {"t_unix": t_unix, "gpus": gpus, "pressed": any(gpu["pressed"] for gpu in gpus)}


def _gpu(fields: dict[str, Any]) -> dict[str, Any]:
    used = memory_share(fields)
    busy = fields.get("memory_controller_percent")
    return {
        "uuid": fields.get("uuid"),
        "memory_used_ratio": None if used is None else round(used, 4),
        "controller_ratio": None if busy is None else busy / 100,
        "pressed": None if used is None else used >= PRESSED,
    }
