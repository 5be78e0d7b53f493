"""What stands below the table, and on the page."""

from typing import Any

from observability.export.notes import notes
from observability.export.text import story
from observability.session.session import Session
from tests.unit.observability.trace_records import gpu, incident

EVIDENCE = {"name": "memory is full", "evidence": {"memory_percent": 99.0}, "do": "less"}


def reading(gpu: int, t_ns: int, **more: Any) -> dict[str, Any]:
    record = {"layer": "nvml", "t_ns": t_ns, "gpu": gpu, "fields": {"name": "x", "power_w": 200.0},
              "problems": {}, "ghosts": {}, "findings": []}  # fmt: skip
    return record | more


def test_findings_lost_gpus_ghosts_and_holders_are_told() -> None:
    lost = {"fields": {}, "problems": {"handle": "GPU is lost"}}
    session = Session(
        [
            reading(0, 1, findings=[EVIDENCE]),
            reading(0, 2, ghosts={"9": 2048, "8": None}),
            reading(1, 2, **lost),
            gpu(1, "alloc", "cudaMalloc", 1024, 1, function="keep"),
            gpu(2, "alloc", "cudaMalloc", 64, 2, function="other"),
            gpu(9, "alloc", "cudaMalloc", 1024, 3, function="keep"),
            gpu(9, "free", "cudaFree", 0, 2),
        ]
    )
    assert notes(session) == [
        "GPU 0: in 1 of 2 readings memory is full (memory_percent 99): less",
        "GPU 0: 2.0K held by process 9, which is no more",
        "GPU 0: memory of unknown size held by process 8, which is no more",
        "GPU 1: tells nothing: GPU is lost",
        "GPU memory: 2.0K held by keep, 1.0K halfway",
    ]


def test_a_recording_without_a_gpu_says_nothing() -> None:
    assert notes(Session([])) == []


def test_energy_is_told_where_power_is_known() -> None:
    line = {"layer": "ring", "request_id": "r1", "tokens": {"seconds": 0.5}}
    records = [record for record in incident() if "layer" in record] + [line]
    for more, expected in (
        ([reading(0, 150)], "0.500 s, 100.0 J of the node's GPUs"),
        ([reading(0, 150), reading(1, 150, fields={})], "0.500 s, energy n/a"),
        ([], "0.500 s, energy n/a"),
    ):
        session = Session([*records, *more])
        request = session.request("r1")
        assert expected in story(request, session.loss(), session.watts(request))
