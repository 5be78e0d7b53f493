"""Which models a message visits, and what the customer gets when one of them fails."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from apps.pipeline.citation import Citation
from apps.pipeline.failure import Unavailable
from apps.pipeline.render import Renderer
from apps.pipeline.reply import Fact, Reply
from apps.pipeline.router import Router
from apps.pipeline.text import read_query

BALANCE = [
    Fact("balance", "balance", "8250.00", "CNY"),
    Fact("used_this_year", "used this year", "11750.00", "CNY"),
    Fact("annual_limit", "annual limit", "20000.00", "CNY"),
    Fact("deductible", "deductible", "1500.00", "CNY"),
    Fact("deductible_left", "deductible left", "300.00", "CNY"),
    Fact("as_of", "as of", "2026-11-01"),
    Fact("plan", "plan", "Standard Health"),
]
LAB = [
    Fact("glucose", "Fasting glucose", "6.8", "mmol/L", "3.9–6.1", "high"),
    Fact("ldl", "LDL cholesterol", "3.0", "mmol/L", "≤ 3.4", "normal"),
    Fact("reported_on", "report date", "2026-10-20"),
    Fact("laboratory", "laboratory", "Synthetic Laboratory"),
]

CITED = Citation(
    document="terms.pdf",
    title="Policy terms",
    page=4,
    boxes=[{"page": 4, "x0": 72.0, "y0": 100.2, "x1": 523.4, "y1": 130.0}],
    quote="Clause 5. The waiting period is 30 days.",
    section=["Waiting periods"],
    language="en",
    date="2026-01-01",
    score=0.61,
)


class Models:
    """Stands in for the other models: says what it is told to say, and remembers calls."""

    def __init__(
        self,
        intent: str,
        facts: list[Fact] | None = None,
        down: str = "",
        citations: list[Citation] | None = None,
        not_searched: str = "",
        several: bool = False,
        confidence: float = 0.9,
    ) -> None:
        self.intent = intent
        self.confidence = confidence
        self.found = {
            "facts": [fact.__dict__ for fact in facts or []],
            "citations": [one.json() for one in citations or []],
            "not_searched": not_searched,
            "several": several,
        }
        self.down = down
        self.calls: list[tuple[str, dict[str, str | bytes]]] = []

    def __call__(self, model: str, inputs: Mapping[str, str | bytes]) -> dict[str, Any]:
        self.calls.append((model, dict(inputs)))
        if model == self.down:
            raise Unavailable(f"{model} is away")
        answers: dict[str, Callable[[], dict[str, Any]]] = {
            "preprocess": lambda: read_query(bytes(inputs["query"])).__dict__,  # type: ignore[arg-type]
            "intent": lambda: {"intent": self.intent, "confidence": self.confidence},
            "retrieve": lambda: self.found,
            "ticket": lambda: {"id": "T-000007", "created": True},
        }
        return answers[model]()


@pytest.fixture(scope="module")
def router() -> Router:
    ticks = iter(range(1_000_000))
    return Router(Renderer(), clock=lambda: next(ticks) / 1000)


def ask(router: Router, models: Models, query: str) -> Reply:
    return router.answer(models, query.encode(), "assertion", "m-1")


def visited(models: Models) -> list[str]:
    return [name for name, _ in models.calls]


def test_a_balance_in_english_also_asks_the_model(router: Router) -> None:
    models = Models("insurance_balance", BALANCE)
    reply = ask(router, models, "what is my balance")
    assert visited(models) == ["preprocess", "intent", "retrieve"]
    assert (reply.status, reply.facts) == ("ok", BALANCE)
    assert "8250.00 CNY" in reply.text
    assert reply.prompt is not None
    assert "8250.00 CNY" in reply.prompt
    assert reply.stages_ms == {"preprocess": 1.0, "intent": 1.0, "retrieve": 1.0, "render": 1.0}


def test_a_language_that_the_model_does_not_know_is_said(router: Router) -> None:
    reply = ask(router, Models("lab_report", LAB), "我的化验单")
    assert reply.prompt is None
    assert reply.omitted == [{"what": "model_words", "why": "the model does not know zh"}]


def test_a_complaint_makes_a_ticket_with_what_was_written(router: Router) -> None:
    models = Models("complaint")
    reply = ask(router, models, "I Complain①!")
    assert models.calls[-1] == (
        "ticket",
        {
            "assertion": "assertion",
            "message_id": "m-1",
            "query": "I Complain①!",
            "language": "en",
        },
    )
    assert reply.ticket == {"id": "T-000007", "created": True}
    assert "T-000007" in reply.text
    assert reply.prompt is None


@pytest.mark.parametrize("query", ["hello", "你好"])
@pytest.mark.parametrize(
    ("intent", "down", "reason"),
    [
        ("other", "preprocess", "preprocess is away"),
        ("other", "intent", "intent is away"),
        ("complaint", "ticket", "ticket is away"),
        ("insurance_balance", "retrieve", "retrieve is away"),
        ("lab_report", "retrieve", "retrieve is away"),
        ("document_question", "retrieve", "retrieve is away"),
    ],
)
def test_a_failed_model_degrades_the_reply_in_the_askers_language(
    router: Router, intent: str, down: str, reason: str, query: str
) -> None:
    reply = ask(router, Models(intent, down=down), query)
    assert (reply.status, reply.reason) == ("degraded", reason)
    assert (reply.facts, reply.ticket, reply.prompt) == ([], None, None)
    assert reply.text
    assert reply.language == ("en" if query == "hello" else "zh")
    assert ("分钟" in reply.text) == (reply.language == "zh")


def test_a_lost_complaint_is_not_called_registered(router: Router) -> None:
    reply = ask(router, Models("complaint", down="ticket"), "I complain")
    assert "could not be registered" in reply.text


def test_a_document_question_is_answered_by_passages_with_page_and_place(router: Router) -> None:
    models = Models("document_question", citations=[CITED])
    reply = ask(router, models, "What does Clause 5 say?")
    assert models.calls[-1] == (
        "retrieve",
        {
            "assertion": "assertion",
            "intent": "document_question",
            "language": "en",
            "text": "What does Clause 5 say?",
        },
    )
    assert (reply.status, reply.citations) == ("ok", [CITED])
    assert "“Clause 5. The waiting period is 30 days.”" in reply.text
    assert "(Policy terms, page 4, at 72,100–523,130)" in reply.text
    assert reply.prompt is not None
    assert "The waiting period is 30 days." in reply.prompt
    assert "say?" not in reply.prompt


def test_the_model_is_not_asked_about_a_passage_in_a_language_it_does_not_know(
    router: Router,
) -> None:
    chinese = replace(CITED, language="zh", quote="第五条 等待期为30天。")
    reply = ask(router, Models("document_question", citations=[chinese]), "what is clause 5")
    assert reply.prompt is None
    assert reply.omitted == [{"what": "model_words", "why": "the model does not know zh"}]


def test_a_lab_report_cites_what_explains_it(router: Router) -> None:
    reply = ask(router, Models("lab_report", LAB, citations=[CITED]), "我的化验单")
    assert "《Policy terms》第 4 页，位置 72,100–523,130" in reply.text
    assert "6.8 mmol/L" in reply.text


def test_documents_that_were_not_searched_are_told_from_none_found(router: Router) -> None:
    query = "what does clause 5 say"
    nothing = ask(router, Models("document_question"), query)
    assert (nothing.status, nothing.omitted) == ("ok", [])
    assert "found no passage" in nothing.text
    not_yet = ask(router, Models("document_question", not_searched="none is loaded"), query)
    assert not_yet.omitted == [{"what": "documents", "why": "none is loaded"}]
    assert "cannot look into the documents yet" in not_yet.text


def test_a_lab_report_without_its_citations_is_an_answer_that_says_so(router: Router) -> None:
    reply = ask(router, Models("lab_report", LAB, not_searched="embed does not answer"), "my lab")
    assert "6.8 mmol/L" in reply.text
    assert reply.status == "ok"
    assert reply.omitted == [{"what": "documents", "why": "embed does not answer"}]


@pytest.mark.parametrize("query", ["", "x" * 5000])
def test_an_unusable_query_goes_no_further(router: Router, query: str) -> None:
    models = Models("complaint")
    reply = ask(router, models, query)
    assert visited(models) == ["preprocess"]
    assert reply.status == "degraded"
    assert reply.text


def test_the_json_has_every_promised_field(router: Router) -> None:
    fields = ask(router, Models("lab_report", LAB), "my lab report").json()
    assert list(fields) == [
        "intent",
        "confidence",
        "language",
        "status",
        "reason",
        "text",
        "facts",
        "citations",
        "prompt",
        "omitted",
        "ticket",
        "stages_ms",
    ]
    assert fields["facts"][0] == {
        "name": "glucose",
        "label": "Fasting glucose",
        "value": "6.8",
        "unit": "mmol/L",
        "reference": "3.9–6.1",
        "flag": "high",
    }
    assert fields["facts"][2] == {
        "name": "reported_on",
        "label": "report date",
        "value": "2026-10-20",
        "unit": "",
    }


@pytest.mark.parametrize(
    ("query", "words"),
    [("What are the total assets?", "name the company"), ("资产总计是多少", "请说明公司")],
)
def test_whose_row_is_asked_back_and_the_model_adds_nothing(
    router: Router, query: str, words: str
) -> None:
    other = replace(CITED, document="other.pdf", title="Other report")
    reply = ask(router, Models("document_question", citations=[CITED, other], several=True), query)
    assert [one["what"] for one in reply.omitted] == ["which_document"]
    assert words in reply.text
    assert "Policy terms" in reply.text
    assert "Other report" in reply.text
    assert (reply.status, reply.prompt) == ("ok", None)


def test_an_unsure_question_that_the_documents_answer_is_one_about_documents(
    router: Router,
) -> None:
    models = Models("other", citations=[CITED], confidence=0.4)
    reply = ask(router, models, "How long must I wait?")
    assert visited(models) == ["preprocess", "intent", "retrieve"]
    assert models.calls[-1][1]["intent"] == "other"
    assert (reply.intent, reply.status, reply.citations) == ("document_question", "ok", [CITED])
    assert CITED.quote in reply.text


@pytest.mark.parametrize(
    ("models", "query"),
    [
        (Models("other", confidence=0.4), "Who are you?"),
        (Models("other", confidence=0.4, not_searched="no documents"), "Who are you?"),
        (Models("other", confidence=0.4, down="retrieve"), "Who are you?"),
        (Models("other", citations=[CITED], confidence=0.4), "hello"),
        (Models("other", citations=[CITED], confidence=0.9), "Who are you?"),
    ],
)
def test_small_talk_stays_small_talk(router: Router, models: Models, query: str) -> None:
    reply = ask(router, models, query)
    assert (reply.intent, reply.status, reply.citations) == ("other", "ok", [])
    assert reply.text.startswith("Hello!")
    assert reply.omitted == []
