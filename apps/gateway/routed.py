"""What the pipeline's `assistant` says about a question, checked at our border."""

import json
from dataclasses import dataclass
from typing import Any

INTENTS = ("complaint", "insurance_balance", "lab_report", "document_question", "other")


class BadResult(ValueError):
    """A result that has not the agreed fields."""


@dataclass(frozen=True, slots=True)
class Routed:
    """Intent, the rendered answer, the facts and passages behind it, and the prompt if words may
    follow."""

    intent: str
    language: str
    status: str
    reason: str | None
    text: str
    facts: list[dict[str, Any]]
    citations: list[dict[str, Any]]
    prompt: str | None
    omitted: list[dict[str, str]]
    ticket: dict[str, Any] | None


def read_result(result: str) -> Routed:
    """Read the JSON text that `assistant` returned. Raises BadResult."""
    try:
        fields = json.loads(result)
        routed = Routed(**{name: fields[name] for name in Routed.__slots__})
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadResult(f"the assistant's result is not readable: {error!r}") from None
    expected = {
        "intent": routed.intent in INTENTS,
        "language": routed.language in ("zh", "en"),
        "status": routed.status in ("ok", "degraded"),
        "reason": routed.reason is None or isinstance(routed.reason, str),
        "text": isinstance(routed.text, str),
        "facts": _dicts(routed.facts) and all("name" in f and "value" in f for f in routed.facts),
        "citations": _dicts(routed.citations) and all("page" in one for one in routed.citations),
        "prompt": routed.prompt is None or isinstance(routed.prompt, str),
        "omitted": _dicts(routed.omitted),
        "ticket": routed.ticket is None or _is_ticket(routed.ticket),
    }
    wrong = [name for name, right in expected.items() if not right]
    if wrong:
        raise BadResult(f"the assistant's result has a bad {', '.join(wrong)}")
    return routed


def _is_ticket(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("id"), str)
        and isinstance(value.get("created"), bool)
    )


def _dicts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)
