"""Triton model `ticket`: a complaint to its one ticket."""

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from apps.pipeline.failure import Unavailable
from apps.pipeline.tickets import Complaint, Tickets
from apps.pipeline.triton import JsonModel


class TritonPythonModel(JsonModel):
    """See apps.pipeline.tickets."""

    inputs = ("assertion", "message_id", "query", "language")

    def start(self) -> None:
        """Nothing is connected yet: the service may start after us."""
        self._tickets = Tickets(os.environ["TICKETS_URL"])

    def reply(self, request_id: str, *values: bytes) -> Mapping[str, Any]:
        """{"id", "created"}."""
        if not values[1]:
            raise Unavailable("a complaint needs a message id")
        complaint = Complaint(*(value.decode("utf-8", "replace") for value in values))
        return asdict(self._tickets.open(complaint))
