"""Sentence embeddings on ONNX Runtime.

    with Embedder.open(default_model()) as embedder:
        embedded = embedder.embed(["资产总计 1,234,567.00"], "passage")

Questions are of the kind "query", what they are to find of the kind "passage".
"""

from apps.embedder.embedder import DIMENSIONS, Embedded, Embedder, Kind, is_empty
from apps.embedder.errors import BadModel, BadText, EmbedderError
from apps.embedder.model import default_model

__all__ = [
    "DIMENSIONS",
    "BadModel",
    "BadText",
    "Embedded",
    "Embedder",
    "EmbedderError",
    "Kind",
    "default_model",
    "is_empty",
]
