"""The body of `POST /v1/chat`, checked field by field."""

import re
from dataclasses import dataclass
from typing import Any

from apps.gateway.refusal import Refusal
from apps.retrieval.assertion import is_name
from apps.strict_json import BadJSON, loads

MAX_BODY_BYTES = 64 * 1024
MAX_DEPTH = 8
MAX_QUERY = 4000
_FIELDS = ("query", "session", "message_id", "stream")
_MESSAGE_ID = re.compile(r"[!-~]{1,128}", re.ASCII)
_FORM = 'send {"query": text, "session": name, "message_id": id, "stream": true or false}'


@dataclass(frozen=True, slots=True)
class Question:
    """One message of a customer. The message id makes a retry recognisable."""

    query: str
    session: str
    message_id: str
    stream: bool = False


def read_question(body: bytes) -> Question:
    """The question in `body`, or Refusal (400, or 413 for a query that is too long)."""
    try:
        fields = loads(body, max_bytes=MAX_BODY_BYTES, max_depth=MAX_DEPTH)
    except BadJSON as error:
        raise Refusal(400, str(error), _FORM) from None
    if not isinstance(fields, dict):
        raise Refusal(400, "the body is not a JSON object", _FORM)
    for name in fields:
        if name not in _FIELDS:
            raise Refusal(400, f"unknown field {name[:40]!r}", _FORM)
    return Question(
        query=_query(fields),
        session=_session(fields),
        message_id=_message_id(fields),
        stream=_stream(fields),
    )


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        wrong = "is missing" if name not in fields else "is not a text"
        raise Refusal(400, f"the field {name!r} {wrong}", _FORM)
    return value


def _query(fields: dict[str, Any]) -> str:
    query = _text(fields, "query")
    if len(query) > MAX_QUERY:
        raise Refusal(
            413,
            f"the query has {len(query)} characters",
            f"send at most {MAX_QUERY}; split a longer question",
        )
    if not query.strip():
        raise Refusal(400, "the query is empty", "write a question")
    return query


def _session(fields: dict[str, Any]) -> str:
    session = _text(fields, "session")
    if not is_name(session):
        raise Refusal(
            400, "the session name cannot be used", "choose 1 to 64 of A-Z a-z 0-9 _ -, at random"
        )
    return session


def _message_id(fields: dict[str, Any]) -> str:
    message_id = _text(fields, "message_id")
    if not _MESSAGE_ID.fullmatch(message_id):
        raise Refusal(
            400,
            "the message id cannot be used",
            "choose 1 to 128 visible ASCII characters, new for each message, the same for a retry",
        )
    return message_id


def _stream(fields: dict[str, Any]) -> bool:
    stream = fields.get("stream", False)
    if not isinstance(stream, bool):
        raise Refusal(400, "the field 'stream' is not true or false", _FORM)
    return stream
