"""Triton model `embed`: texts to vectors, those of waiting requests together."""

import traceback
from collections.abc import Mapping
from typing import Any

import triton_python_backend_utils as pb

from apps.embedder import Embedded, Embedder, default_model
from apps.pipeline.embedding import Wish, grant
from apps.pipeline.triton import log
from observability.probes.request import begin_all


class TritonPythonModel:
    """See apps.pipeline.embedding and apps.embedder."""

    def initialize(self, args: Mapping[str, str]) -> None:
        """Load the model that the supervisor made sure of."""
        self._embedder = Embedder.open(default_model())

    def execute(self, requests: list[Any]) -> list[Any]:
        """Called by Triton with the waiting requests; one response each, in order."""
        try:
            with begin_all(request.request_id() for request in requests):
                granted = grant([_wish(request) for request in requests], self._embedder.embed)
        except Exception:
            log.error("embed: %s", traceback.format_exc())
            granted = ["embed has an internal error"] * len(requests)
        return [_response(each) for each in granted]

    def finalize(self) -> None:
        """Called by Triton before it ends the process."""
        self._embedder.close()


def _wish(request: Any) -> Wish:
    texts, kinds = (_strings(request, name) for name in ("text", "kind"))
    # Kinds that differ within one request are no kind.
    return Wish(tuple(texts), " and ".join(sorted(set(kinds))))


def _strings(request: Any, name: str) -> list[str]:
    values = pb.get_input_tensor_by_name(request, name).as_numpy().reshape(-1)
    return [bytes(value).decode("utf-8", "replace") for value in values]


def _response(granted: Embedded | str) -> Any:
    if isinstance(granted, str):
        return pb.InferenceResponse(error=pb.TritonError(granted))
    return pb.InferenceResponse(
        [
            pb.Tensor("vector", granted.vectors),
            pb.Tensor("tokens", granted.tokens.reshape(-1, 1)),
            pb.Tensor("cut", granted.cut.reshape(-1, 1)),
        ]
    )
