"""A business scenario: a short conversation, what each reply must say, and how fast."""

import re
from dataclasses import dataclass

from rollout._yaml_reader import BadDocument, Value, read
from rollout.pattern import MAX_CHARACTERS, BadPattern, Pattern

INTENTS = ("complaint", "insurance_balance", "lab_report", "document_question", "other")
LANGUAGES = ("zh", "en")
CUSTOMERS = ("s-zh", "s-en")
STATUSES = ("ok", "degraded", "stopped")
TICKETS = ("created", "same", "none")
MIN_RUNS = 20
MAX_RUNS = 1000
MAX_BYTES = 32 * 1024
MIN_SUCCESS = 0.95


class BadScenario(ValueError):
    """A scenario file that cannot be used; one line with its place and the remedy."""


@dataclass(frozen=True)
class Limits:
    """What a scenario must keep: share of good runs, P95 to first content and to the end (ms)."""

    success: float = MIN_SUCCESS
    first_ms: float = 1200.0
    total_ms: float = 1200.0


@dataclass(frozen=True)
class Expect:
    """What one reply must be. `facts` maps a fact's name to its value as text."""

    intent: str
    status: str = "ok"
    reply_matches: tuple[Pattern, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    ticket: str = "none"


@dataclass(frozen=True)
class Turn:
    """One question. With `retry` it is sent under the message id of the turn before it."""

    query: str
    expect: Expect
    retry: bool = False


@dataclass(frozen=True)
class Scenario:
    """A whole scenario; `customer` is a synthetic one, so no sample or page counts it."""

    name: str
    language: str
    customer: str
    runs: int
    turns: tuple[Turn, ...]
    limits: Limits = Limits()


def load(text: str) -> Scenario:
    """Read one scenario from YAML. Raises BadScenario with the line and the remedy."""
    try:
        return _scenario(read(text, MAX_BYTES))
    except BadDocument as error:
        raise BadScenario(str(error)) from None


def _scenario(root: Value) -> Scenario:
    fields = root.mapping(
        ("name", "language", "customer", "runs", "turns"), ("success", "first_ms", "total_ms")
    )
    name = fields["name"].text(60)
    if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]*", name):
        raise fields["name"].bad("use small letters, digits, '_', '.' and '-'")
    turns = tuple(_turn(item) for item in fields["turns"].sequence(1, 20))
    _check_tickets(turns, fields["turns"])
    return Scenario(
        name=name,
        language=fields["language"].choice(LANGUAGES),
        customer=fields["customer"].choice(CUSTOMERS),
        runs=fields["runs"].integer(MIN_RUNS, MAX_RUNS),
        turns=turns,
        limits=_limits(fields),
    )


def _limits(fields: dict[str, Value]) -> Limits:
    def number(name: str, least: float, most: float) -> float:
        default = float(getattr(Limits, name))
        return fields[name].number(least, most) if name in fields else default

    return Limits(
        success=number("success", MIN_SUCCESS, 1.0),
        first_ms=number("first_ms", 1, 60_000),
        total_ms=number("total_ms", 1, 60_000),
    )


def _turn(value: Value) -> Turn:
    fields = value.mapping(("query", "expect"), ("retry",))
    retry = fields["retry"].boolean() if "retry" in fields else False
    return Turn(fields["query"].text(), _expect(fields["expect"]), retry)


def _expect(value: Value) -> Expect:
    fields = value.mapping(("intent",), ("status", "reply_matches", "facts", "ticket"))
    patterns = fields["reply_matches"].sequence(1, 20) if "reply_matches" in fields else []
    facts = fields["facts"].any_mapping() if "facts" in fields else {}
    return Expect(
        intent=fields["intent"].choice(INTENTS),
        status=fields["status"].choice(STATUSES) if "status" in fields else "ok",
        reply_matches=tuple(_pattern(item) for item in patterns),
        facts=tuple((name, item.scalar()) for name, item in facts.items()),
        ticket=fields["ticket"].choice(TICKETS) if "ticket" in fields else "none",
    )


def _pattern(value: Value) -> Pattern:
    try:
        return Pattern(value.text(MAX_CHARACTERS))
    except BadPattern as error:
        raise value.bad(str(error)) from None


def _check_tickets(turns: tuple[Turn, ...], value: Value) -> None:
    if turns[0].retry:
        raise value.bad("the first turn has nothing to retry; remove retry")
    seen = False
    for turn in turns:
        if turn.expect.ticket == "same" and not seen:
            raise value.bad("'ticket: same' needs a turn with a ticket before it")
        seen = seen or turn.expect.ticket == "created"
