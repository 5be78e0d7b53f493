"""What the language model is asked, in English: a little general explanation, no new number."""

from collections.abc import Sequence

from apps.pipeline.reply import Fact

# Reading the prompt is what the customer waits for before the model's first word.
MAX_QUERY_CHARS = 120
MAX_FACTS = 3
_TASKS = {
    "insurance_balance": "Explain in general what this health insurance balance is for.",
    "lab_report": "Explain in general what these laboratory values are about.",
}


def prompt_for(intent: str, query: str, facts: Sequence[Fact]) -> str:
    """A prompt of about 100 tokens. The customer has already read the facts."""
    known = "; ".join(_said(fact) for fact in _telling(facts))
    return (
        f"A customer asks: {query[:MAX_QUERY_CHARS]}\n"
        f"They have just read: {known}.\n"
        f"{_TASKS[intent]} Use one or two short, friendly sentences and no numbers."
    )


def _telling(facts: Sequence[Fact]) -> list[Fact]:
    """The facts worth explaining: those out of range, or else the first ones."""
    flagged = [fact for fact in facts if fact.flag in ("low", "high")]
    return (flagged or list(facts))[:MAX_FACTS]


def _said(fact: Fact) -> str:
    return " ".join(word for word in (fact.label, fact.value, fact.unit, fact.flag) if word)
