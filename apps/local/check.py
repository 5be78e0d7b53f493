"""Ask the running assistant three questions and judge the answers."""

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

TIMEOUT_S = 30.0


@dataclass(frozen=True)
class Question:
    """What a seeded customer asks, and what the reply must be about and contain."""

    customer: str
    query: str
    intent: str
    contains: str


QUESTIONS = (
    Question("c-1001", "我的医保余额还有多少？", "insurance_balance", "12680.50"),
    Question("c-1002", "Please explain my lab report", "lab_report", "LDL cholesterol"),
    Question("c-1002", "I want to complain about your hotline", "complaint", "T-"),
)


def check(url: str, tokens: Mapping[str, str], say: Callable[[str], None]) -> bool:
    """Whether every answer is right; `say` gets each question, reply and fault."""
    right = [_ask(url, tokens[question.customer], question, say) for question in QUESTIONS]
    return all(right)


def fault(question: Question, reply: Mapping[str, Any]) -> str:
    """ "" if `reply` answers `question`, else what is wrong with it."""
    for name, wanted in (("intent", question.intent), ("status", "ok")):
        if reply.get(name) != wanted:
            return f"{name} is {reply.get(name)!r}, not {wanted!r}"
    if question.contains not in str(reply.get("reply")):
        return f"the reply does not contain {question.contains!r}"
    return ""


def _ask(url: str, token: str, question: Question, say: Callable[[str], None]) -> bool:
    say(f"{question.customer} asks: {question.query}")
    body = {"query": question.query, "session": uuid4().hex, "message_id": uuid4().hex}
    request = urllib.request.Request(  # noqa: S310
        f"{url}/v1/chat",
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:  # noqa: S310
            reply = json.load(response)
    except (OSError, ValueError) as error:
        say(f"  wrong: {error}")
        return False
    for line in str(reply.get("reply")).splitlines():
        say(f"  {line}")
    wrong = fault(question, reply)
    say(f"  wrong: {wrong}" if wrong else f"  right, in {reply['latency_ms']['total']:.0f} ms")
    return not wrong
