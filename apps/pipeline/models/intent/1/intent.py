"""Triton model `intent`: a normalised query to what the customer wants and how sure that is."""

from collections.abc import Mapping
from typing import Any

from apps.pipeline.intents.classifier import Classifier
from apps.pipeline.intents.train import weights_path
from apps.pipeline.triton import JsonModel


class TritonPythonModel(JsonModel):
    """See apps.pipeline.intents."""

    inputs = ("text",)

    def start(self) -> None:
        """Read the weights that the supervisor made sure of."""
        self._classifier = Classifier.load(weights_path())

    def reply(self, request_id: str, *values: bytes) -> Mapping[str, Any]:
        """{"intent", "confidence"}."""
        intent, confidence = self._classifier.intent(values[0].decode("utf-8", "replace"))
        return {"intent": intent, "confidence": round(confidence, 3)}
