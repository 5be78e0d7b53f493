"""Triton model `retrieve`: who asks and what about, to that customer's facts and the passages
of documents that an answer may cite."""

import os
from collections.abc import Mapping
from typing import Any

from apps.pipeline.citation import citation
from apps.pipeline.customer import facts_of
from apps.pipeline.failure import Unavailable
from apps.pipeline.lookup import Chosen, Lookup, chosen, lookups, once
from apps.pipeline.triton import JsonModel, embed
from apps.retrieval.facts import NotAllowed, facts
from apps.retrieval.glossary import bilingual
from apps.retrieval.pool import Pool, TryLater
from apps.retrieval.search import NotReady, Query, search

_NO_DATABASE = "the customer database does not answer"


class TritonPythonModel(JsonModel):
    """See apps.retrieval.facts, apps.retrieval.search and apps.pipeline.lookup."""

    inputs = ("assertion", "intent", "language", "text")

    def start(self) -> None:
        """Begin to connect; the database may come later than we."""
        self._model = os.environ["EMBEDDER_NAME"]
        self._pool = Pool(os.environ["DATABASE_URL"], size=1, read_only=True)
        self._pool.open()

    def reply(self, request_id: str, *values: bytes) -> Mapping[str, Any]:
        """{"facts": [the fields of a Fact], "citations": [the fields of a Citation],
        "not_searched": "" or why the documents were not searched, "several": whether the
        citations are one row of several documents, and others may have it, too}."""
        assertion, intent, language, text = (value.decode("utf-8", "replace") for value in values)
        if not assertion:
            raise Unavailable("nobody is asking")
        try:
            records = facts(self._pool, assertion, intent)
        except NotAllowed:
            raise Unavailable("the customer's identity is not valid now") from None
        except TryLater:
            raise Unavailable(_NO_DATABASE) from None
        known = [fact.__dict__ for fact in facts_of(records, language)]
        wanted = lookups(intent, text, records, language)
        try:
            found, why = self._found(wanted, assertion, language, request_id), ""
        except (Unavailable, NotReady) as failure:
            # Facts without a citation are still an answer; a document question has nothing else.
            if not known and isinstance(failure, Unavailable):
                raise
            found, why = [], str(failure)
        passages = once(passage for one in found for passage in one.passages)
        return {
            "facts": known,
            "citations": [citation(one).json() for one in passages],
            "not_searched": why,
            "several": any(one.several for one in found),
        }

    def _found(
        self, wanted: list[Lookup], assertion: str, language: str, request_id: str
    ) -> list[Chosen]:
        # First all the vectors, so that no connection is held while the model computes.
        queries = [
            Query(
                embed(words, request_id),
                self._model,
                language,
                words,
                departments=one.departments,
                limit=one.find,
            )
            for one in wanted
            for words in [bilingual(one.text, language)]
        ]
        try:
            found = [search(self._pool, assertion, query) for query in queries]
        except TryLater:
            raise Unavailable(_NO_DATABASE) from None
        return [
            chosen(one, language, passages) for one, passages in zip(wanted, found, strict=True)
        ]

    def finalize(self) -> None:
        """Called by Triton before it ends the process."""
        self._pool.close()
