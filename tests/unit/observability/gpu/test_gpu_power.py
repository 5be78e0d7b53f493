"""Watts of the node: known when every GPU tells, and only then."""

from typing import Any

from observability.gpu.power import mean_watts, watts

S = 1_000_000_000


def reading(gpu: int, t_ns: int, power: float | None) -> dict[str, Any]:
    return {"layer": "nvml", "gpu": gpu, "t_ns": t_ns, "fields": {"power_w": power}}


def test_all_gpus_together() -> None:
    assert watts([reading(0, 0, 100.0), reading(1, 0, 50.0)]) == 150.0
    assert watts([reading(0, 0, 100.0), reading(1, 0, None)]) is None
    assert watts([]) is None


def test_the_mean_over_a_time() -> None:
    readings = [reading(0, i * S, float(i)) for i in range(10)] + [reading(1, 4 * S, 100.0)]
    assert mean_watts(readings, 4 * S, 4 * S + 1) == 4.0 + 100.0
    assert mean_watts(readings, 30 * S, 31 * S) is None
    assert mean_watts([*readings, reading(1, 4 * S, None)], 4 * S, 5 * S) is None
