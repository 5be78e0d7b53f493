"""What the language model is asked, in English: to say the facts kindly, no number of its own.

The customer's words are left out: they could only tell the model to do something else.
"""

from collections.abc import Sequence

from apps.pipeline.analytes import about
from apps.pipeline.citation import Citation, shortened
from apps.pipeline.reply import Fact

_MAX_PASSAGE_CHARS = 240


def prompt_for(intent: str, facts: Sequence[Fact], citations: Sequence[Citation] = ()) -> str:
    """A prompt of about 100 tokens: reading it is what the first word waits for."""
    if intent == "document_question":
        return (
            f"Passage: {shortened(citations[0].quote, _MAX_PASSAGE_CHARS)}\n"
            "Say in one short, friendly sentence without numbers what this passage is about."
        )
    known = _balance(facts) if intent == "insurance_balance" else _laboratory(facts)
    return (
        f"Facts: {known}\n"
        "Explain these facts in one or two short, friendly sentences without numbers."
    )


def _balance(facts: Sequence[Fact]) -> str:
    balance = next(fact for fact in facts if fact.name == "balance")
    return (
        f"My health insurance balance is {balance.value} {balance.unit}. The balance is what the"
        " insurance can still pay for my treatment this year."
    )


def _laboratory(facts: Sequence[Fact]) -> str:
    """The first value out of range, or else the first: the small model mixes up two."""
    results = [fact for fact in facts if fact.flag]
    telling = [fact for fact in results if fact.flag != "normal"]
    fact = (telling or results)[0]
    return f"My {fact.label} is {fact.value} {fact.unit} ({fact.flag}). {about(fact, 'en')}".strip()
