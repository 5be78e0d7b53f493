"""Triton model `assistant`: a message to its reply, by way of the other models (unary BLS)."""

from collections.abc import Mapping
from typing import Any

from apps.pipeline.render import Renderer
from apps.pipeline.router import Router
from apps.pipeline.triton import JsonModel, call


class TritonPythonModel(JsonModel):
    """See apps.pipeline.router."""

    inputs = ("query", "assertion", "message_id", "request_id")

    def start(self) -> None:
        """Compile the templates."""
        self._router = Router(Renderer())

    def reply(self, request_id: str, *values: bytes) -> Mapping[str, Any]:
        """The fields of a Reply."""
        query, assertion, message_id, named = values
        request_id = named.decode("utf-8", "replace") or request_id
        answer = self._router.answer(
            lambda model, inputs: call(model, request_id, inputs),
            query,
            assertion.decode("utf-8", "replace"),
            message_id.decode("utf-8", "replace"),
        )
        return answer.json()
