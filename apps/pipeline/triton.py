"""The border to Triton's Python backend: tensors in, tensors out, failures as values.

Only the stub process that Triton starts can import `triton_python_backend_utils`. It heeds
neither PYTHONPATH nor a `sitecustomize`, so here is where a model's process gets its probes.
"""

import json
import logging
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import triton_python_backend_utils as pb
from numpy.typing import NDArray

from apps.pipeline.failure import Unavailable
from observability import probes
from observability.probes.request import begin

logging.basicConfig(
    stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s %(message)s"
)
log = logging.getLogger("pipeline")
probes.start()


def read_bytes(request: Any, name: str) -> bytes:
    """The one element of the BYTES[1] input `name`."""
    return bytes(pb.get_input_tensor_by_name(request, name).as_numpy()[0])


def bytes_tensor(name: str, value: str | bytes) -> Any:
    """A BYTES[1] tensor; characters that UTF-8 cannot carry become "?"."""
    raw = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return pb.Tensor(name, np.array([raw], dtype=np.object_))


class JsonModel(ABC):
    """A unary model: BYTES[1] inputs named in `inputs`, one BYTES[1] output `result` with JSON.

    A subclass gives `start` and `reply`. What `reply` raises becomes {"failed": reason}, so an
    error that Triton itself reports always means that the stub process is gone.
    """

    inputs: ClassVar[tuple[str, ...]]

    def initialize(self, args: Mapping[str, str]) -> None:
        """Called by Triton once, before the model counts as loaded."""
        self.name = args["model_name"]
        self.start()

    def start(self) -> None:  # noqa: B027 - most models need nothing
        """Load what `reply` needs."""

    @abstractmethod
    def reply(self, request_id: str, *values: bytes) -> Mapping[str, Any]:
        """The JSON object for one request; `values` are in the order of `inputs`."""

    def execute(self, requests: list[Any]) -> list[Any]:
        """Called by Triton with the waiting requests; one response each, in order."""
        responses = []
        for request in requests:
            with begin(request.request_id()):
                responses.append(self._respond(request))
        return responses

    def _respond(self, request: Any) -> Any:
        try:
            values = [read_bytes(request, name) for name in self.inputs]
            result = self.reply(request.request_id(), *values)
        except Unavailable as failure:
            result = {"failed": str(failure)}
        except Exception:
            log.error("%s: %s", self.name, traceback.format_exc())
            result = {"failed": f"{self.name} has an internal error"}
        text = json.dumps(result, ensure_ascii=False)
        return pb.InferenceResponse([bytes_tensor("result", text)])


def call(model: str, request_id: str, inputs: Mapping[str, str | bytes]) -> dict[str, Any]:
    """Run another JsonModel of this server; raises Unavailable when it failed or is gone."""
    response = pb.InferenceRequest(
        model_name=model,
        request_id=request_id,
        requested_output_names=["result"],
        inputs=[bytes_tensor(name, value) for name, value in inputs.items()],
    ).exec()
    if response.has_error():
        log.error("%s: %s", model, response.error().message())
        raise Unavailable(f"{model} does not answer")
    result: dict[str, Any] = json.loads(
        pb.get_output_tensor_by_name(response, "result").as_numpy()[0]
    )
    if "failed" in result:
        raise Unavailable(result["failed"])
    return result


def embed(text: str, request_id: str) -> NDArray[np.float32]:
    """The vector f32 [384] of a question, by this server's model `embed`; raises Unavailable."""
    response = pb.InferenceRequest(
        model_name="embed",
        request_id=request_id,
        requested_output_names=["vector"],
        inputs=[
            pb.Tensor(name, np.array([[value.encode("utf-8", "replace")]], dtype=np.object_))
            for name, value in (("text", text), ("kind", "query"))
        ],
    ).exec()
    if response.has_error():
        log.error("embed: %s", response.error().message())
        raise Unavailable("embed does not answer")
    vector: NDArray[np.float32] = pb.get_output_tensor_by_name(response, "vector").as_numpy()[0]
    return vector
