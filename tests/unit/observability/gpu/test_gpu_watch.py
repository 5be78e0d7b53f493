"""GPUs read again and again: what NVML no longer tells, and what was refused meanwhile."""

import os
from typing import Any

import pytest

from observability.bpf.errors import TraceError
from observability.gpu.nvml import Gpu
from observability.gpu.rules import load
from observability.gpu.watch import GpuWatch, refused_bytes
from tests.unit.observability.trace_records import gpu

FREE = {"memory_free_bytes": 100.0}


class Nvml:
    """Gives what it was given, one after the other."""

    def __init__(self, *readings: list[Gpu] | TraceError) -> None:
        self._readings = list(readings)

    def read(self) -> list[Gpu]:
        reading = self._readings.pop(0)
        if isinstance(reading, TraceError):
            raise reading
        return reading

    def close(self) -> None:
        """Nothing is held."""


class Watch(GpuWatch):
    """Reads when a test says so."""

    def _run(self) -> None:
        """The thread has nothing to do."""


def watch(*readings: list[Gpu] | TraceError, warn: Any = None) -> Watch:
    return Watch(Nvml(*readings), load(), warn or (lambda _: None))  # type: ignore[arg-type]


def one(**more: Any) -> Gpu:
    return Gpu(0, fields={"name": "x", **FREE}, **more)


def test_nvml_may_fail_for_a_moment() -> None:
    said: list[str] = []
    watched = watch([one()], TraceError("gone"), TraceError("gone"), [one()], warn=said.append)
    for _ in range(4):
        watched._read()
    fields = [record["fields"].get("name") for record in watched.take()]
    assert fields == ["x", None, None, "x"]
    assert said == ["gone"]
    assert watched.take() == []


@pytest.mark.parametrize(("ours", "expected"), [(True, {2**30: 7}), (False, None)])
def test_who_counts_processes_otherwise_calls_none_a_ghost(
    monkeypatch: pytest.MonkeyPatch, ours: bool, expected: dict[int, int] | None
) -> None:
    monkeypatch.setattr("observability.gpu.watch.numbers_are_ours", lambda: ours)
    watched = watch([one(processes={2**30: 7, os.getpid(): 5})])
    watched._read()
    assert watched.take()[0]["ghosts"] == expected


def test_a_refusal_though_memory_is_free_is_a_finding() -> None:
    watched = watch([one()], [one()], [one()])
    watched._read()
    watched.note(
        [
            gpu(1, "alloc", "cudaMalloc", 80, 0, result=2),
            gpu(1, "create", "cuMemCreate", 70, 0, result=2),
            gpu(1, "alloc", "cuMemAlloc_v2", 1, 0, result=2, nested=True),
            gpu(1, "alloc", "cudaMalloc", 2, 0, result=35),
            gpu(1, "alloc", "cudaMalloc", 3, 7),
        ]
    )
    watched._read()
    watched._read()
    before, after, later = watched.take()
    assert (before["findings"], later["findings"]) == ([], [])
    (found,) = after["findings"]
    assert found["name"] == "free memory is in pieces"
    assert found["evidence"] == {"refused_of_free_percent": 70.0}


@pytest.mark.parametrize(
    ("processes", "gpus", "expected"),
    [(None, 1, 80.0), ({1: 5}, 2, 80.0), ({2: 5}, 2, None), (None, 2, None)],
)
def test_a_refusal_is_of_the_gpu_that_has_the_process(
    processes: dict[int, int | None] | None, gpus: int, expected: float | None
) -> None:
    refused = [gpu(1, "alloc", "cudaMalloc", 80, 0, result=2)]
    assert refused_bytes(one(processes=processes), gpus, refused) == expected
