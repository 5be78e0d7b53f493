"""A complaint is taken whole or refused with the name of what is wrong."""

import json

import pytest

from apps.strict_json import BadJSON
from apps.tickets.complaint import BadComplaint, Complaint, parse

GOOD = {"assertion": "v1.c.s.1.00", "message_id": "m-1", "query": "我要投诉", "language": "zh"}


def test_a_complaint_is_read() -> None:
    assert parse(json.dumps(GOOD).encode()) == Complaint(**GOOD)


@pytest.mark.parametrize("missing", GOOD)
def test_every_field_is_needed(missing: str) -> None:
    body = {name: value for name, value in GOOD.items() if name != missing}
    with pytest.raises(BadComplaint, match="an object of exactly assertion, message_id"):
        parse(json.dumps(body).encode())


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("value", [None, 1, True, ["x"], {"a": 1}])
def test_every_field_is_a_string(name: str, value: object) -> None:
    with pytest.raises(BadComplaint, match=f"{name} must be a string"):
        parse(json.dumps({**GOOD, name: value}).encode())


@pytest.mark.parametrize(
    ("name", "limit"), [("assertion", 300), ("message_id", 128), ("query", 4000)]
)
def test_lengths_are_bounded_in_characters(name: str, limit: int) -> None:
    assert parse(json.dumps({**GOOD, name: "投" * limit}).encode())
    for length in (0, limit + 1):
        with pytest.raises(BadComplaint, match=f"{name} must have 1 to {limit}"):
            parse(json.dumps({**GOOD, name: "投" * length}).encode())


@pytest.mark.parametrize("char", ["\n", "\u2028", "\u202e", "\x7f"])
def test_a_message_id_is_printable(char: str) -> None:
    with pytest.raises(BadComplaint, match="printable"):
        parse(json.dumps({**GOOD, "message_id": "m" + char}).encode())


def test_what_is_not_json_is_said_so() -> None:
    with pytest.raises(BadJSON):
        parse(b'{"assertion": NaN}')
