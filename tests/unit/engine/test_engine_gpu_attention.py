"""The Triton-language kernel in its interpreter, on the host: no GPU takes part."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

# Read when the language is first imported.
os.environ["TRITON_INTERPRET"] = "1"

import numpy as np
import numpy.typing as npt
import pytest

from apps.engine.errors import BadRequest
from apps.engine_gpu.attention import attend
from tests.unit.engine.attention_cases import CASES, PAGE, Batch, Case, batch, truth
from tests.unit.engine.host_tensor import HostTensor

pytestmark = [
    pytest.mark.slow,
    # The interpreter reads its own scalars in a way that numpy 1.25 began to warn of.
    pytest.mark.filterwarnings("ignore:Conversion of an array:DeprecationWarning"),
]

COMPILE = """
import sys
from triton import compile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from apps.engine_gpu.attention import PAGE, _attention
kind, rows, capability = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
types = {"queries": "*" + kind, "pool": "*fp16", "tables": "*i32", "firsts": "*i32",
         "starts": "*i32", "out": "*" + kind, "table_width": "i32", "scale": "fp32"}
sizes = {"GROUP": 3, "HEAD": 64, "PAGE": PAGE, "ROWS": rows, "POSITIONS": 64, "WIDTH": 64}
source = ASTSource(_attention, types | dict.fromkeys(sizes, "constexpr"), sizes)
print(compile(source, target=GPUTarget("cuda", capability, 32)).asm["ptx"])
"""


def arguments(given: Batch, kind: str = "float32") -> dict[str, Any]:
    counts = [count for _, count in given.case.sequences]
    tables = np.full((len(counts), max(map(len, given.pages))), -1, np.int32)
    for row, pages in zip(tables, given.pages, strict=True):
        row[: len(pages)] = pages
    return {
        "queries": HostTensor(given.queries.astype(kind)),
        "pool": HostTensor(given.pool),
        "tables": HostTensor(tables),
        "firsts": HostTensor(np.cumsum([0, *counts], dtype=np.int32)),
        "starts": HostTensor(np.array([start for start, _ in given.case.sequences], np.int32)),
        "out": HostTensor(np.full(given.queries.shape, np.nan, kind)),
    }


def attended(given: Batch, kind: str) -> npt.NDArray[np.floating[Any]]:
    tensors = arguments(given, kind)
    attend(**tensors, longest=max(count for _, count in given.case.sequences))
    out: npt.NDArray[np.floating[Any]] = tensors["out"].array
    return out


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_gpu_kernel_attends_as_float64_does(case: Case) -> None:
    given = batch(case)
    limit = case.tolerance * case.size
    np.testing.assert_allclose(attended(given, "float32"), truth(given), rtol=0, atol=limit)


@pytest.mark.parametrize("case", CASES[:8], ids=lambda case: case.name)
def test_half_precision_queries_cost_half_precision(case: Case) -> None:
    given = batch(case)
    np.testing.assert_allclose(attended(given, "float16"), truth(given), rtol=0, atol=4e-3)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("queries", np.zeros((7, 9, 64))),
        ("pool", np.zeros((4, 3, 2 * 64 * PAGE), np.float32)),
        ("pool", np.zeros((4, 3, 64 * PAGE), np.float16)),
        ("tables", np.zeros((1, 1), np.int64)),
        ("firsts", np.zeros(1, np.int32)),
        ("starts", np.zeros(2, np.int32)),
        ("out", np.zeros((7, 9, 63), np.float32)),
        ("queries", np.zeros((7, 9), np.float32)),
        ("pool", np.zeros((4, 3), np.float16)),
        ("tables", np.zeros(1, np.int32)),
    ],
)
def test_a_wrong_tensor_is_named(name: str, wrong: npt.NDArray[Any]) -> None:
    tensors = arguments(batch(CASES[1])) | {name: HostTensor(wrong)}
    with pytest.raises(BadRequest, match=f"attention: {name} is {wrong.dtype}"):
        attend(**tensors, longest=7)


@pytest.mark.parametrize("name", ["queries", "pool", "tables", "firsts", "starts", "out"])
def test_a_tensor_in_another_place_or_order_is_named(name: str) -> None:
    tensors = arguments(batch(next(case for case in CASES if len(case.sequences) > 1)))
    array = tensors[name].array
    strided = np.repeat(array, 2, axis=-1)[..., ::2]
    with pytest.raises(BadRequest, match=f"attention: {name} is strided on cpu"):
        attend(**tensors | {name: HostTensor(strided)}, longest=7)
    with pytest.raises(BadRequest, match=r"attention: \w+ is contiguous on .*, expected"):
        attend(**tensors | {name: HostTensor(array, "cuda:1")}, longest=7)


def test_heads_that_do_not_share_evenly_are_refused() -> None:
    tensors = arguments(batch(CASES[1]))
    tensors["pool"] = HostTensor(np.zeros((4, 2, 2 * 64 * PAGE), np.float16))
    with pytest.raises(BadRequest, match="9 query heads do not share 2 KV heads"):
        attend(**tensors, longest=7)


@pytest.mark.parametrize(
    ("kind", "rows", "capability"), [("fp16", 16, 80), ("fp16", 64, 90), ("fp32", 16, 80)]
)
def test_the_kernel_compiles_for_gpus(
    kind: str, rows: int, capability: int, tmp_path: Path
) -> None:
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, kind, str(rows), str(capability)],
        env=environment | {"TRITON_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert f".target sm_{capability}" in done.stdout
    tensor_cores = "wgmma" in done.stdout or "mma.sync" in done.stdout
    assert tensor_cores == (kind == "fp16")
