"""NVIDIA's own Python binding over a stand-in library: field by field, GPU by GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import json, os
from dataclasses import asdict
from observability.agent.process import all_pids
from observability.gpu.nvml import Nvml, ghosts
from observability.gpu.rules import findings, load
nvml = Nvml()
gpus = nvml.read()
print(json.dumps({
    "gpus": [asdict(gpu) for gpu in gpus],
    "ghosts": [ghosts(gpu, set(all_pids())) for gpu in gpus],
    "findings": [[f.name for f in findings(load(), gpu.fields)] for gpu in gpus],
}))
nvml.close()
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).with_name("nvml.c")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", source, "-o", folder / "libnvidia-ml.so.1"], check=True
    )
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "LD_LIBRARY_PATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)  # type: ignore[no-any-return]


def test_each_field_has_its_unit(told: dict[str, Any]) -> None:
    assert told["gpus"][0]["problems"] == {}
    assert told["gpus"][0]["fields"] == {
        "name": "Stand-in",
        "uuid": "GPU-0000",
        "pcie_tx_gb_s": 0.5,
        "pcie_rx_gb_s": 12.5,
        "power_w": 690.0,
        "power_limit_w": 700.0,
        "memory_total_bytes": 1000.0,
        "memory_used_bytes": 985.0,
        "memory_free_bytes": 5.0,
        "memory_reserved_bytes": 10.0,
        "compute_percent": 10.0,
        "memory_controller_percent": 30.0,
        "clock_mhz": 1200.0,
        "clock_limit_mhz": 1980.0,
        "throttled_by": "power cap, temperature",
        "ecc_corrected": 7.0,
        "ecc_uncorrected": 0.0,
    }


def test_a_lost_gpu_hides_no_other(told: dict[str, Any]) -> None:
    _, lost, third = told["gpus"]
    assert lost["fields"] == {}
    assert lost["problems"] == {"handle": "GPU is lost"}
    assert third["fields"]["memory_used_bytes"] == 985.0


def test_what_a_gpu_does_not_tell_is_none(told: dict[str, Any]) -> None:
    third = told["gpus"][2]
    assert third["fields"]["compute_percent"] is None
    assert third["processes"] is None
    assert third["problems"] == {
        "compute_percent": "Not Supported",
        "memory_controller_percent": "Not Supported",
        "processes": "Not Supported",
    }


def test_a_process_that_is_no_more_is_a_ghost(told: dict[str, Any]) -> None:
    assert told["ghosts"] == [{"2147480000": 300}, {}, {}]


def test_counters_become_findings(told: dict[str, Any]) -> None:
    every = ["data starves", "clocks are throttled", "cache is too large", "memory is full"]
    assert told["findings"] == [every, [], ["memory is full"]]
