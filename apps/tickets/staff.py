"""Who may read tickets, and the page they read. Pure."""

import base64
import binascii
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from apps.tickets.ticket import MAX_NUMBER, Ticket, ticket_id, ticket_number

USER = "staff"
PAGE_SIZE = 25
MAX_PAGE_SIZE = 100
_LIMIT = re.compile("[1-9][0-9]{0,2}", re.ASCII)

_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


class BadPage(ValueError):
    """The query string does not name a page; `str()` is one line."""


@dataclass(frozen=True, slots=True)
class Page:
    """Tickets newest first, and the id to name in `before` for older ones (None at the end)."""

    tickets: Sequence[Ticket]
    older: str | None
    is_first: bool

    def as_json(self) -> dict[str, object]:
        """The page for a program."""
        return {"tickets": [ticket.as_json() for ticket in self.tickets], "older": self.older}


def is_staff(authorization: str, token: str) -> bool:
    """Whether the header names the staff's token: `Bearer TOKEN`, or Basic as user `staff`."""
    scheme, _, given = authorization.partition(" ")
    if scheme.lower() == "bearer":
        wanted = token
    elif scheme.lower() == "basic":
        wanted = f"{USER}:{token}"
        try:
            given = base64.b64decode(given, validate=True).decode("utf-8")
        except (binascii.Error, ValueError):
            return False
    else:
        return False
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())


def page_request(before: str | None, limit: str | None) -> tuple[int, int]:
    """Return (number below which to list, how many) from the query string's `before`, `limit`."""
    number: int | None = MAX_NUMBER
    if before is not None:
        number = ticket_number(before)
        if number is None:
            raise BadPage("before must be a ticket's id such as T-000123")
    assert number is not None
    if limit is None:
        return number, PAGE_SIZE
    if _LIMIT.fullmatch(limit) is None or int(limit) > MAX_PAGE_SIZE:
        raise BadPage(f"limit must be 1 to {MAX_PAGE_SIZE}")
    return number, int(limit)


def page_of(found: Sequence[Ticket], count: int, *, is_first: bool) -> Page:
    """Return the page of `count` tickets, given up to one more than that."""
    tickets = found[:count]
    older = ticket_id(tickets[-1].number) if len(found) > count else None
    return Page(tickets, older, is_first)


def render(page: Page, lane: str) -> str:
    """Return the page as HTML; every text of a customer is escaped."""
    return _TEMPLATES.get_template("tickets.html.j2").render(page=page, lane=lane)
