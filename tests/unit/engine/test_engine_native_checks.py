"""A wrong plan, buffer or step is an exception of the compiled side, never a crash."""

import mmap
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from apps.engine.core import _turns
from apps.engine.graph import Room, plan
from apps.engine.model import Model
from apps.engine.native import load
from apps.engine.plan import MATRIX, OP, SIZES, Kind
from tests.unit.engine.native_operation import step_of

Array = npt.NDArray[Any]


def arguments(model: Model) -> dict[str, Any]:
    """What makes a good core of the tiny model."""
    room = Room(rows=32, pages=4, positions=64)
    made = plan(model, room)
    config = model.config
    cells = config.layers * room.pages * config.kv_heads * config.head * 2 * 16
    return {
        "sizes": made.sizes,
        "ops": made.ops,
        "weights": model.file.mapping,
        "turns": _turns(config.rotary.frequencies, 1.0, room.positions),
        "pool": mmap.mmap(-1, 2 * cells),
        "work": mmap.mmap(-1, made.work_bytes),
        "threads": 2,
        "isa": "portable",
        "cpus": (),
    }


@pytest.fixture
def good(tiny: Model) -> dict[str, Any]:
    return arguments(tiny)


def make(given: dict[str, Any]) -> Any:
    return load().Core(**given)


def test_layouts_are_those_of_the_compiled_side() -> None:
    module = load()
    assert (OP.itemsize, SIZES.itemsize) == (module.OP_BYTES, module.SIZES_BYTES)
    assert OP["part"].shape == (3,)
    assert MATRIX.itemsize == 40


@pytest.mark.parametrize("name", SIZES.names)
@pytest.mark.parametrize("value", [-1, 1 << 40, -(1 << 63), (1 << 63) - 1])
def test_impossible_sizes_are_refused(good: dict[str, Any], name: str, value: int) -> None:
    good["sizes"][name] = value
    with pytest.raises(ValueError, match=r"sizes|table of turns|pool|mixes|operation"):
        make(good)


def operation_of(kind: Kind, ops: Array) -> Array:
    found: Array = ops[np.flatnonzero(ops["kind"] == kind)[0] :][:1]
    return found


@pytest.mark.parametrize("kind", list(Kind), ids=lambda kind: kind.name)
@pytest.mark.parametrize("field", ["source", "source_width", "target", "target_width", "layer"])
@pytest.mark.parametrize("value", [-64, 1 << 20, 1 << 40, -(1 << 63), (1 << 63) - 64])
def test_an_operation_outside_its_memory_is_named_or_does_not_use_it(
    good: dict[str, Any], kind: Kind, field: str, value: int
) -> None:
    uses = {
        "source": {Kind.NORM, Kind.PRODUCT, Kind.ROTATE, Kind.ATTEND, Kind.GATE},
        "source_width": {Kind.NORM, Kind.ROTATE, Kind.ATTEND, Kind.GATE},
        "target": set(Kind) - {Kind.ROTATE},
        "target_width": {Kind.EMBED, Kind.PRODUCT},
        "layer": {Kind.ROTATE, Kind.ATTEND, Kind.MERGE},
    }
    operation_of(kind, good["ops"])[field] = value
    if kind in uses[field]:
        with pytest.raises(ValueError, match=rf"operation \d+ \({kind.name.lower()}\)"):
            make(good)
    else:
        make(good).close()


EXTREMES = [-1, 1 << 30, 1 << 50, -(1 << 63), (1 << 63) - 1]
BAD_MATRICES = [
    *((kind, field, value)
      for kind in (Kind.EMBED, Kind.NORM, Kind.PRODUCT)
      for field in ("format", "rows", "columns", "offset")
      for value in EXTREMES),
    *((Kind.PRODUCT, "column", value) for value in (*EXTREMES, 1000)),
    *((kind, "format", 7) for kind in (Kind.EMBED, Kind.NORM, Kind.PRODUCT)),
    *((kind, "columns", 7) for kind in (Kind.EMBED, Kind.PRODUCT)),
    (Kind.EMBED, "rows", 7),
    (Kind.PRODUCT, "rows", 0),
    (Kind.NORM, "format", 1),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "field", "value"), BAD_MATRICES)
def test_a_matrix_that_cannot_be_is_refused(
    good: dict[str, Any], kind: Kind, field: str, value: int
) -> None:
    operation_of(kind, good["ops"])["part"][0, 0][field] = value
    with pytest.raises(ValueError, match=rf"operation \d+ \({kind.name.lower()}\)"):
        make(good)


def test_logits_of_rows_that_nobody_wants_are_refused(good: dict[str, Any]) -> None:
    assert good["ops"]["to_logits"][-1] == good["ops"]["selected"][-1] == 1
    good["ops"]["selected"][-1] = 0
    with pytest.raises(ValueError, match=r"operation \d+ \(product\): logits have a row"):
        make(good)


def test_an_operation_of_no_kind_is_refused(good: dict[str, Any]) -> None:
    for kind in (-1, len(Kind)):
        good["ops"]["kind"][3] = kind
        with pytest.raises(ValueError, match="operation 3 has no kind"):
            make(good)


def shorter(values: Any) -> Any:
    return np.frombuffer(values, np.uint8)[: len(memoryview(values).cast("B")) // 2].copy()


@pytest.mark.parametrize("name", ["sizes", "ops", "weights", "turns", "pool", "work"])
def test_a_buffer_that_is_too_short_is_refused(good: dict[str, Any], name: str) -> None:
    given = bytes(good[name]) if name == "weights" else good[name]
    good[name] = given[: len(given) // 2] if name == "weights" else shorter(given)
    if name == "ops":
        good[name] = good[name][:-8]
    with pytest.raises(ValueError, match=r"bytes|aligned"):
        make(good)


@pytest.mark.parametrize("name", ["sizes", "ops", "weights", "turns", "pool", "work"])
def test_what_is_no_buffer_is_refused(good: dict[str, Any], name: str) -> None:
    good[name] = 5
    with pytest.raises(TypeError):
        make(good)


def test_memory_that_may_not_be_written_is_refused(good: dict[str, Any]) -> None:
    good["pool"] = bytes(good["pool"])
    with pytest.raises((BufferError, ValueError)):
        make(good)


@pytest.mark.parametrize(("threads", "cpus"), [(0, ()), (65, ()), (-1, ()), (2, (0,))])
def test_impossible_threads_are_refused(
    good: dict[str, Any], threads: int, cpus: tuple[int, ...]
) -> None:
    with pytest.raises(ValueError, match="threads"):
        make(good | {"threads": threads, "cpus": cpus})


def test_threads_can_be_pinned(good: dict[str, Any]) -> None:
    core = make(good | {"cpus": (0, 0)})
    core.run(step_of([1], [0], [0], [], [0]), np.empty(0, np.float32))
    core.close()


Change = Callable[[list[list[int]]], Any]


@pytest.mark.parametrize(
    "change",
    [
        lambda step: step[0].__setitem__(0, -1),
        lambda step: step[0].__setitem__(0, 1 << 30),
        lambda step: step[1].__setitem__(1, 64),
        lambda step: step[1].__setitem__(1, -1),
        lambda step: step[1].__setitem__(1, 32),
        lambda step: step[2].__setitem__(0, 2),
        lambda step: step[2].__setitem__(0, -1),
        lambda step: step[3].__setitem__(0, 2),
        lambda step: step[3].__setitem__(0, -1),
        lambda step: step[4].__setitem__(1, 4),
        lambda step: step[4].__setitem__(0, -1),
        lambda step: step[4].clear(),
    ],
)
def test_a_step_outside_the_plan_is_refused(good: dict[str, Any], change: Change) -> None:
    core = make(good)
    step = [[1, 2], [0, 16], [0, 0], [1], [0, 1]]
    logits = np.empty((1, int(good["sizes"]["vocabulary"])), np.float32)
    core.run(step_of(*step), logits)
    change(step)
    with pytest.raises(ValueError, match=r"row|page|token|step"):
        core.run(step_of(*step), logits)
    core.close()


def test_a_step_of_another_length_than_it_says_is_refused(good: dict[str, Any]) -> None:
    core = make(good)
    step = step_of([1], [0], [0], [0], [0])
    logits = np.empty((1, int(good["sizes"]["vocabulary"])), np.float32)
    for wrong in (step[:-1], step[:2], np.append(step, 0).astype(np.int32), step[:0]):
        with pytest.raises(ValueError, match="step"):
            core.run(wrong, logits)
    many = [0] * 33
    with pytest.raises(ValueError, match="at most 32"):
        core.run(step_of(many, many, many, [], [0]), logits)
    with pytest.raises(ValueError, match="logits have"):
        core.run(step, logits[:, :-1].copy())
    with pytest.raises((BufferError, ValueError)):
        core.run(step, logits.tobytes())
    with pytest.raises(TypeError):
        core.run(step)
    core.close()


def test_a_core_is_made_once(good: dict[str, Any]) -> None:
    core = make(good)
    with pytest.raises(RuntimeError, match="once"):
        core.__init__(**good)
    core.close()


@pytest.mark.parametrize("given", [(0, 1), (1, 0), (-1, 5), (1 << 40, 1)])
def test_activations_of_no_size_are_refused(given: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="activations"):
        load().activation_bytes(*given)


@pytest.mark.parametrize("head", [0, -1, 257])
def test_a_head_of_no_size_is_refused(head: int) -> None:
    with pytest.raises(ValueError, match="head"):
        load().mix_bytes(head)
