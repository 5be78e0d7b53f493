"""A complaint as it arrives: checked field by field. Pure."""

from dataclasses import dataclass, fields

from apps.strict_json import loads

LANGUAGES = ("zh", "en")
MAX_ASSERTION = 300
MAX_MESSAGE_ID = 128
MAX_QUERY = 4000


class BadComplaint(ValueError):
    """A body that is JSON but not a complaint; `str()` is one line for the sender."""


@dataclass(frozen=True, slots=True)
class Complaint:
    """What the pipeline reports: who (by assertion), the message's id, its text and language."""

    assertion: str
    message_id: str
    query: str
    language: str


def parse(body: bytes) -> Complaint:
    """Return the complaint in a JSON body, or raise `BadJSON` or `BadComplaint`."""
    value = loads(body)
    names = [field.name for field in fields(Complaint)]
    if not isinstance(value, dict) or set(value) != set(names):
        raise BadComplaint(f"the body must be an object of exactly {', '.join(names)}")
    for name in names:
        if not isinstance(value[name], str):
            raise BadComplaint(f"{name} must be a string")
    complaint = Complaint(**value)
    for name, limit in (
        ("assertion", MAX_ASSERTION),
        ("message_id", MAX_MESSAGE_ID),
        ("query", MAX_QUERY),
    ):
        if not 1 <= len(value[name]) <= limit:
            raise BadComplaint(f"{name} must have 1 to {limit} characters")
    if not complaint.message_id.isprintable():
        raise BadComplaint("message_id must have printable characters only")
    if complaint.language not in LANGUAGES:
        raise BadComplaint(f"language must be one of {', '.join(LANGUAGES)}")
    return complaint
