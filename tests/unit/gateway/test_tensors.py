"""The wire form of tensors and the assistant's result: what is not as agreed is refused."""

import json

import pytest
from tritonclient.grpc import service_pb2 as pb

from apps.gateway.routed import BadResult, read_result
from apps.gateway.tensors import BadTensor, number, request, text

RESULT = {
    "intent": "other",
    "confidence": 0.5,
    "language": "zh",
    "status": "ok",
    "reason": None,
    "text": "你好",
    "facts": [],
    "citations": [],
    "prompt": None,
    "omitted": [],
    "ticket": None,
    "stages_ms": {},
}


def response(name: str, raw: bytes) -> pb.ModelInferResponse:
    message = pb.ModelInferResponse()
    message.outputs.add(name=name, datatype="BYTES", shape=[1])
    message.raw_output_contents.append(raw)
    return message


def test_a_request_carries_texts_and_numbers_of_one_element() -> None:
    message = request("answer", "r1", {"prompt": "余额", "max_tokens": 48})
    assert [(t.name, t.datatype, list(t.shape)) for t in message.inputs] == [
        ("prompt", "BYTES", [1]),
        ("max_tokens", "INT32", [1]),
    ]
    raw = "余额".encode()
    assert list(message.raw_input_contents) == [bytes([6, 0, 0, 0]) + raw, bytes([48, 0, 0, 0])]


def test_a_text_is_read_back() -> None:
    assert text(response("result", bytes([2, 0, 0, 0]) + b"ok"), "result") == "ok"


@pytest.mark.parametrize("raw", [b"", b"\x01", bytes([9, 0, 0, 0]) + b"ok", b"\x01\0\0\0\xff"])
def test_a_tensor_that_is_no_text_is_refused(raw: bytes) -> None:
    with pytest.raises(BadTensor):
        text(response("result", raw), "result")
    with pytest.raises(BadTensor):
        text(response("other", b"\0\0\0\0"), "result")


def test_a_result_is_read() -> None:
    assert read_result(json.dumps(RESULT)).text == "你好"


BAD_FIELDS: list[dict[str, object]] = [
    {"intent": "joke"},
    {"language": "de"},
    {"status": "stopped"},
    {"text": None},
    {"facts": [{"name": "x"}]},
    {"facts": {}},
    {"citations": [{"title": "no page"}]},
    {"citations": "p. 4"},
    {"omitted": ["x"]},
    {"ticket": "T-1"},
    {"ticket": {"id": "T-1"}},
    {"prompt": 1},
    {"reason": 5},
]


@pytest.mark.parametrize(
    "result",
    ["", "[]", "{}", "[" * 100_000, *(json.dumps({**RESULT, **change}) for change in BAD_FIELDS)],
)
def test_a_result_that_is_not_as_agreed_is_refused(result: str) -> None:
    with pytest.raises(BadResult):
        read_result(result)


@pytest.mark.parametrize(
    ("raw", "value"), [(b"\x07\0\0\0", 7), (b"\xff" * 4, -1), (b"\1" + b"\0" * 7, 1)]
)
def test_a_number_is_read_in_both_widths(raw: bytes, value: int) -> None:
    assert number(response("token", raw), "token") == value


@pytest.mark.parametrize("raw", [b"", b"\0" * 3, b"\0" * 12])
def test_what_is_no_number_is_refused(raw: bytes) -> None:
    with pytest.raises(BadTensor, match="'token' is not one whole number"):
        number(response("token", raw), "token")
