"""Real inferences that ask whether a model's process still answers, as cheap as can be."""

import queue
from contextlib import suppress
from typing import Any

import numpy as np
import tritonclient.grpc as triton

TIMEOUT_S = 10.0
# Nothing here reaches the database, the tickets service or a customer.
_INPUTS: dict[str, dict[str, str]] = {
    "preprocess": {"query": "hello"},
    "intent": {"text": "hello"},
    "embed": {"text": "hello", "kind": "query"},
    "assistant": {"query": "hello", "assertion": "", "message_id": "", "request_id": "probe"},
    "retrieve": {"assertion": "", "intent": "other", "language": "en", "text": ""},
    "ticket": {"assertion": "", "message_id": "", "query": "", "language": "en"},
    "answer": {"prompt": "Hi"},
}
MODELS = tuple(_INPUTS)


class ProbeFailed(Exception):
    """One line: what a model did instead of answering."""


class Prober:
    """Asks one server; for one thread."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._client = triton.InferenceServerClient(address)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def ask(self, model: str) -> None:
        """Return after one answer from `model`; raises ProbeFailed."""
        try:
            if model == "answer":
                self._stream(model)
            else:
                self._client.infer(
                    model, _tensors(model), request_id="probe", client_timeout=TIMEOUT_S
                )
        except triton.InferenceServerException as error:
            raise ProbeFailed(str(error.message()).partition("\n")[0]) from None

    def _stream(self, model: str) -> None:
        """A decoupled model answers on a stream only; one token is enough."""
        answers: queue.Queue[Any] = queue.Queue()
        tokens = triton.InferInput("max_tokens", [1], "INT32")
        tokens.set_data_from_numpy(np.array([1], np.int32))
        with triton.InferenceServerClient(self._address) as client:
            client.start_stream(
                lambda result, error: answers.put(error or result), stream_timeout=TIMEOUT_S
            )
            client.async_stream_infer(model, [*_tensors(model), tokens], request_id="probe")
            with suppress(queue.Empty):
                answer = answers.get(timeout=TIMEOUT_S)
                if isinstance(answer, triton.InferenceServerException):
                    raise answer
                return
        raise ProbeFailed(f"{model} gave no token in {TIMEOUT_S:g} s")


def _tensors(model: str) -> list[Any]:
    tensors = []
    for name, value in _INPUTS[model].items():
        # Of these models only `embed` takes several texts at once.
        shape = [1, 1] if model == "embed" else [1]
        tensor = triton.InferInput(name, shape, "BYTES")
        tensor.set_data_from_numpy(np.array([value.encode()], np.object_).reshape(shape))
        tensors.append(tensor)
    return tensors
