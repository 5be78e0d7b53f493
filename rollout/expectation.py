"""Whether an answer is what a scenario expects; pure."""

from decimal import Decimal, InvalidOperation

from rollout.chat import Answer
from rollout.scenario import Expect

MAX_REPLY = 20_000
"""Characters of a reply in which a pattern is searched."""


def mismatch(expect: Expect, answer: Answer, language: str, ticket: str | None) -> str | None:
    """What differs from the expectation, in one line; `ticket` is the last one of this run."""
    for what, wanted, got in (
        ("intent", expect.intent, answer.intent),
        ("status", expect.status, answer.status),
        ("language", language, answer.language),
    ):
        if wanted != got:
            because = f" ({answer.reason})" if what == "status" and answer.reason else ""
            return f"{what} is {got!r}{because}, expected {wanted!r}"
    for name, value in expect.facts:
        if name not in answer.facts:
            return f"fact {name!r} is missing"
        if not same_value(value, answer.facts[name]):
            return f"fact {name!r} is {answer.facts[name]!r}, expected {value!r}"
    if len(answer.text) > MAX_REPLY:
        return f"the reply has {len(answer.text)} characters, more than {MAX_REPLY}"
    for pattern in expect.reply_matches:
        if not pattern.found_in(answer.text):
            return f"the reply does not match {pattern.text!r}: {answer.text[:120]!r}"
    return _ticket_mismatch(expect.ticket, answer, ticket)


def _ticket_mismatch(expected: str, answer: Answer, ticket: str | None) -> str | None:
    if expected == "none":
        return f"ticket {answer.ticket} was opened, expected none" if answer.ticket else None
    if not answer.ticket:
        return "no ticket was opened"
    if expected == "created":
        return None if answer.ticket_created else f"ticket {answer.ticket} is not a new one"
    if answer.ticket != ticket or answer.ticket_created:
        return f"ticket is {answer.ticket}, expected {ticket} again"
    return None


def same_value(expected: str, got: str) -> bool:
    """Equal as text, or equal as decimal numbers (`12340` and `12340.00`)."""
    if expected == got:
        return True
    try:
        return Decimal(expected) == Decimal(got.replace(",", ""))
    except InvalidOperation:
        return False
