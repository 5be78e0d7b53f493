"""Triton model `retrieve`: who asks and what about, to that customer's facts."""

import os
from collections.abc import Mapping
from typing import Any

from apps.pipeline.customer import facts_of
from apps.pipeline.failure import Unavailable
from apps.pipeline.triton import JsonModel
from apps.retrieval.facts import NotAllowed, facts
from apps.retrieval.pool import Pool, TryLater


class TritonPythonModel(JsonModel):
    """See apps.retrieval.facts and apps.pipeline.customer."""

    inputs = ("assertion", "intent", "language")

    def start(self) -> None:
        """Begin to connect; the database may come later than we."""
        self._pool = Pool(os.environ["DATABASE_URL"], size=1, read_only=True)
        self._pool.open()

    def reply(self, request_id: str, *values: bytes) -> Mapping[str, Any]:
        """{"facts": [the fields of a Fact]}."""
        assertion, intent, language = (value.decode("utf-8", "replace") for value in values)
        if not assertion:
            raise Unavailable("nobody is asking")
        try:
            records = facts(self._pool, assertion, intent)
        except NotAllowed:
            raise Unavailable("the customer's identity is not valid now") from None
        except TryLater:
            raise Unavailable("the customer database does not answer") from None
        return {"facts": [fact.__dict__ for fact in facts_of(records, language)]}

    def finalize(self) -> None:
        """Called by Triton before it ends the process."""
        self._pool.close()
