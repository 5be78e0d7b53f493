"""A ticket, and the number people quote for it. Pure."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

MAX_NUMBER = 2**63 - 1
_ID = re.compile(r"T-([0-9]{6,18})", re.ASCII)


def ticket_id(number: int) -> str:
    """Return the id of ticket `number`: `T-000123`."""
    return f"T-{number:06d}"


def ticket_number(text: str) -> int | None:
    """Return the number in an id, or None if `text` is not an id as `ticket_id` writes it."""
    match = _ID.fullmatch(text)
    number = int(match[1]) if match else 0
    return number if number > 0 and ticket_id(number) == text else None


@dataclass(frozen=True, slots=True)
class Ticket:
    """One complaint as staff see it; `created_at` is in UTC."""

    number: int
    created_at: datetime
    customer: str
    name: str
    language: str
    status: str
    query: str

    @property
    def id(self) -> str:
        """The id that people quote."""
        return ticket_id(self.number)

    @property
    def created(self) -> str:
        """The time of creation, ISO 8601 in UTC, to the second."""
        return self.created_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def as_json(self) -> dict[str, str]:
        """The ticket's fields for a program."""
        return {
            "id": self.id,
            "created_at": self.created,
            "customer": self.customer,
            "name": self.name,
            "language": self.language,
            "status": self.status,
            "query": self.query,
        }
