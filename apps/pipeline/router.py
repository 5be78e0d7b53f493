"""What happens to one message: which models run, in which order, and what if one fails."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from apps.pipeline.citation import Citation
from apps.pipeline.failure import Unavailable
from apps.pipeline.lookup import is_about_documents
from apps.pipeline.prompt import prompt_for
from apps.pipeline.render import Renderer
from apps.pipeline.reply import Fact, Reply
from apps.pipeline.text import MAX_CHARS, Query, language_of

_LOOKED_UP = ("insurance_balance", "lab_report", "document_question")
_WHICH = "which_document"
_NAME_IT = {
    "zh": "不止一份文件有这一项；请说明是哪家公司或哪份文件",
    "en": "several documents have this row; name the company or the document",
}
# The language that the packaged model was trained on.
_MODEL_KNOWS = "en"


class Call(Protocol):
    """Run a model by name: its JSON object, or Unavailable."""

    def __call__(self, model: str, inputs: Mapping[str, str | bytes]) -> dict[str, Any]: ...


class Router:
    """Answers messages by calling other models. Never raises: what fails is said in the reply."""

    def __init__(self, renderer: Renderer, clock: Callable[[], float] = time.perf_counter) -> None:
        self._render = renderer
        self._clock = clock

    def answer(self, call: Call, query: bytes, assertion: str, message_id: str) -> Reply:
        """The reply to `query` (UTF-8) by the customer whom `assertion` names."""
        reply = Reply()
        try:
            with self._stage(reply, "preprocess"):
                message = Query(**call("preprocess", {"query": query}))
            reply.language = message.language
            if message.problem:
                self._refuse(reply, message.problem)
                return reply
            with self._stage(reply, "intent"):
                found = call("intent", {"text": message.text})
            reply.intent, reply.confidence = found["intent"], found["confidence"]
        except Unavailable as failure:
            reply.language = language_of(query[:MAX_CHARS].decode("utf-8", "replace"))
            reply.degrade(str(failure))
            reply.text = self._render("degraded", reply)
            return reply
        self._by_intent(call, message, assertion, message_id, reply)
        return reply

    def _by_intent(
        self, call: Call, message: Query, assertion: str, message_id: str, reply: Reply
    ) -> None:
        try:
            if reply.intent == "complaint":
                with self._stage(reply, "ticket"):
                    reply.ticket = call(
                        "ticket",
                        {
                            "assertion": assertion,
                            "message_id": message_id,
                            "query": message.written,
                            "language": message.language,
                        },
                    )
            elif reply.intent in _LOOKED_UP:
                self._look_up(call, message, assertion, reply)
            elif is_about_documents(reply.intent, reply.confidence, message.text):
                self._look_up_in_case(call, message, assertion, reply)
        except Unavailable as failure:
            reply.degrade(str(failure))
            reply.text = self._render("degraded", reply)
            return
        with self._stage(reply, "render"):
            reply.text = self._render(reply.intent, reply)
        self._ask_model(reply)

    def _look_up(self, call: Call, message: Query, assertion: str, reply: Reply) -> None:
        with self._stage(reply, "retrieve"):
            found = call(
                "retrieve",
                {
                    "assertion": assertion,
                    "intent": reply.intent,
                    "language": message.language,
                    "text": message.written,
                },
            )
        reply.facts = [Fact(**fact) for fact in found["facts"]]
        reply.citations = [Citation(**citation) for citation in found["citations"]]
        if found["not_searched"]:
            reply.omit("documents", found["not_searched"])
        if found["several"]:
            reply.omit(_WHICH, _NAME_IT[message.language])

    def _look_up_in_case(self, call: Call, message: Query, assertion: str, reply: Reply) -> None:
        """What was taken for small talk is a question about documents if they answer it well."""
        found = Reply(intent=reply.intent, stages_ms=reply.stages_ms)
        try:
            self._look_up(call, message, assertion, found)
        except Unavailable:
            return  # small talk needs no database
        if found.citations:
            reply.intent = "document_question"
            reply.citations, reply.omitted = found.citations, found.omitted

    def _ask_model(self, reply: Reply) -> None:
        """Let the model add words, but only to facts, and only in a language it knows."""
        if not reply.facts and not reply.citations:
            return
        if any(one["what"] == _WHICH for one in reply.omitted):
            return  # the next word is the customer's
        languages = {reply.language}
        if not reply.facts:
            languages.add(reply.citations[0].language)
        unknown = sorted(languages - {_MODEL_KNOWS})
        if unknown:
            reply.omit("model_words", f"the model does not know {unknown[0]}")
        else:
            reply.prompt = prompt_for(reply.intent, reply.facts, reply.citations)

    def _refuse(self, reply: Reply, problem: str) -> None:
        if problem == "too long":
            reply.degrade(f"the query is longer than {MAX_CHARS} characters")
        else:
            reply.degrade("the query has no words")
        reply.text = self._render("problem", reply, problem=problem, limit=MAX_CHARS)

    @contextmanager
    def _stage(self, reply: Reply, name: str) -> Iterator[None]:
        begun = self._clock()
        try:
            yield
        finally:
            reply.stages_ms[name] = round((self._clock() - begun) * 1000, 2)
