"""Triton model `preprocess`: bytes of a query to a bounded, normalised query and its language."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from apps.pipeline.text import read_query
from apps.pipeline.triton import JsonModel


class TritonPythonModel(JsonModel):
    """See apps.pipeline.text."""

    inputs = ("query",)

    def reply(self, request_id: str, *values: bytes) -> Mapping[str, Any]:
        """The fields of a Query."""
        return asdict(read_query(values[0]))
