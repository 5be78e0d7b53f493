"""Triton's wire form of the few tensors we exchange: one text or one number each."""

import struct
from collections.abc import Mapping

from tritonclient.grpc import service_pb2 as pb


class BadTensor(ValueError):
    """A response that has not the tensors its model promises."""


def request(model: str, request_id: str, inputs: Mapping[str, str | int]) -> pb.ModelInferRequest:
    """A request of one-element tensors: text as BYTES, a number as INT32."""
    message = pb.ModelInferRequest(model_name=model, id=request_id)
    for name, value in inputs.items():
        tensor = message.inputs.add()
        tensor.name = name
        tensor.shape.append(1)
        if isinstance(value, str):
            raw = value.encode()
            tensor.datatype = "BYTES"
            message.raw_input_contents.append(struct.pack("<I", len(raw)) + raw)
        else:
            tensor.datatype = "INT32"
            message.raw_input_contents.append(struct.pack("<i", value))
    return message


def text(response: pb.ModelInferResponse, name: str) -> str:
    """The one text in the BYTES tensor `name`."""
    raw = _raw(response, name)
    if len(raw) < 4 or struct.unpack_from("<I", raw)[0] != len(raw) - 4:
        raise BadTensor(f"the tensor {name!r} is not one text")
    try:
        return raw[4:].decode()
    except UnicodeDecodeError:
        raise BadTensor(f"the tensor {name!r} is not UTF-8") from None


def number(response: pb.ModelInferResponse, name: str) -> int:
    """The one whole number in the INT32 or INT64 tensor `name`."""
    raw = _raw(response, name)
    if len(raw) not in (4, 8):
        raise BadTensor(f"the tensor {name!r} is not one whole number")
    return int.from_bytes(raw, "little", signed=True)


def _raw(response: pb.ModelInferResponse, name: str) -> bytes:
    for tensor, raw in zip(response.outputs, response.raw_output_contents, strict=False):
        if tensor.name == name:
            return bytes(raw)
    raise BadTensor(f"the tensor {name!r} is missing")
