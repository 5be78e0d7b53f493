"""What the node's GPUs draw: all of them together, for NVML knows no requests."""

from collections.abc import Iterable
from statistics import fmean

from observability.agent.events import Record

# Readings are a second apart: a short request has one beside it, not within it.
_BESIDE_NS = 1_500_000_000


def watts(readings: Iterable[Record]) -> float | None:
    """Of one reading of each GPU; None without any, or if one does not tell."""
    drawn = [record["fields"].get("power_w") for record in readings]
    return sum(drawn) if drawn and None not in drawn else None


def mean_watts(readings: Iterable[Record], start_ns: int, end_ns: int) -> float | None:
    """Over the readings of a time; None without any, or if one does not tell."""
    by_gpu: dict[int, list[float | None]] = {}
    for record in readings:
        if start_ns - _BESIDE_NS <= record["t_ns"] <= end_ns + _BESIDE_NS:
            by_gpu.setdefault(record["gpu"], []).append(record["fields"].get("power_w"))
    means = []
    for drawn in by_gpu.values():
        told = [value for value in drawn if value is not None]
        if len(told) < len(drawn):
            return None
        means.append(fmean(told))
    return sum(means) if means else None
