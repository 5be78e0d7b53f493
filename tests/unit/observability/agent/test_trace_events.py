"""The bytes of the kernel's events, decoded; they follow bpf/event.h."""

import re
import struct
from typing import Any

import pytest

from observability.agent.events import decode
from observability.bpf.kernel import ways
from observability.bpf.source import FOLDER, text
from observability.gpu.calls import CALLS, SHAPES, cookie


def raw(kind: int, *words: int, call: int = 0, flags: int = 0, request: bytes = b"r",
        name: bytes = b"f") -> bytes:  # fmt: skip
    words = words + (0,) * (4 - len(words))
    return struct.pack("=QIIHHIQQQQ64s96s", 5, 10, 11, kind, call, flags, *words, request, name)


def kinds() -> dict[str, int]:
    body = re.search(r"enum kind \{(.*?)\}", (FOLDER / "event.h").read_text(), re.S)
    assert body
    names = [line.strip(" ,\n") for line in body[1].replace(" = 1", "").strip().splitlines()]
    return {name: number for number, name in enumerate(names, 1)}


@pytest.mark.parametrize(
    ("kind", "words", "expected"),
    [
        ("FUNCTION_ENTRY", (7,), {"layer": "python", "kind": "entry", "function": "f", "frame": 7}),
        ("FUNCTION_RETURN", (7, 0, 2), {"kind": "resume", "function": "f", "frame": 7}),
        ("FUNCTION_RETURN", (7, 0, 99), {"kind": "return"}),
        ("OBJECT_CREATE", (1, 64), {"kind": "create", "type": "f", "id": 1, "bytes": 64}),
        ("OBJECT_DESTROY", (1,), {"kind": "destroy", "type": "f", "id": 1}),
        ("OBJECT_CHAIN", (1,), {"kind": "chain", "type": "r", "holders": "f", "request": ""}),
        ("TOKEN", (3, 3, 1), {"layer": "token", "kind": "discarded", "outcome": "client left"}),
        ("TOKEN", (3, 0, 0), {"kind": "generated", "token": 3, "outcome": ""}),
        ("OFF_CPU", (900, 0), {"layer": "wait", "kind": "off_cpu", "ns": 900, "runnable": False}),
        ("OFF_CPU", (900, 1), {"runnable": True}),
        ("OFF_CPU", (900, 2), {"runnable": None}),
        ("GIL_WAIT", (900,), {"layer": "wait", "kind": "gil", "ns": 900}),
    ],
)
def test_each_kind(kind: str, words: tuple[int, ...], expected: dict[str, Any]) -> None:
    record = decode(raw(kinds()[kind], *words), "boot")
    assert expected.items() <= record.items()
    assert (record["t_ns"], record["pid"], record["tid"], record["boot"]) == (5, 10, 11, "boot")


def test_a_gpu_call_has_its_name_from_the_table() -> None:
    number = next(i for i, call in enumerate(CALLS) if call.symbol == "cudaMalloc")
    record = decode(raw(kinds()["GPU_CALL"], 64, 9, 35, 200, call=number, flags=1), "boot")
    assert record["call"] == "cudaMalloc"
    assert (record["bytes"], record["address"], record["result"], record["ns"]) == (64, 9, 35, 200)
    assert record["nested"] is True
    assert (record["function"], record["request"]) == ("f", "r")


def test_padding_of_a_perf_buffer_and_bytes_that_are_no_text_are_no_trouble() -> None:
    record = decode(raw(1, 7, request=b"\xff" * 64, name=b"\xc3") + b"\0\0\0\0", "boot")
    assert record["request"] == "�" * 64
    assert record["function"] == "�"


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown kind 99"):
        decode(raw(99), "boot")


def test_every_call_gets_a_line_of_its_own_in_the_programs() -> None:
    assert len({call.symbol for call in CALLS}) == len(CALLS)
    whole = text(["gpu"], ways())
    for number, call in enumerate(CALLS):
        assert f"CALL({number}, {call.shape}, {call.symbol})" in whole
    assert "CALL(" not in text(["python"], ways())
    assert cookie("cudaMallocPitch") >> 16 == SHAPES.index("pitch")
    assert CALLS[cookie("cudaMallocPitch") & 0xFFFF].symbol == "cudaMallocPitch"
    enum = re.search(r"enum shape \{(.*)\}", whole)
    assert enum
    assert enum[1].split() == [f"{shape}_shape," for shape in SHAPES[:-1]] + ["plain_shape"]
