"""The chat body: each way to be wrong has its status and one line with the remedy."""

import json
from typing import Any

import pytest

from apps.gateway.question import Question, read_question
from apps.gateway.refusal import Refusal

GOOD: dict[str, Any] = {"query": "余额多少？", "session": "s-1", "message_id": "m:1"}


def body(**changes: Any) -> bytes:
    fields = {k: v for k, v in (GOOD | changes).items() if v is not ...}
    return json.dumps(fields, ensure_ascii=False).encode()


def test_a_good_body_is_read() -> None:
    assert read_question(body()) == Question("余额多少？", "s-1", "m:1", False)
    assert read_question(body(stream=True)).stream


@pytest.mark.parametrize(
    ("content", "http", "wrong"),
    [
        (b"", 400, "not JSON"),
        (b"hello", 400, "not JSON"),
        (b"[]", 400, "not a JSON object"),
        (b"null", 400, "not a JSON object"),
        (b'{"query": "\xff"}', 400, "not UTF-8"),
        (b'{"query": "a", "query": "b"}', 400, "stands twice"),
        (b'{"query": NaN}', 400, "NaN"),
        (b'{"query": "\\ud800"}', 400, "surrogate"),
        (b"[" * 60_000, 400, "nested deeper than 8"),
        (b'{"a":' * 9 + b"1" + b"}" * 9, 400, "nested deeper than 8"),
        (b'{"query": ' + b"9" * 5000 + b"}", 400, "digits"),
        (body(query=...), 400, "'query' is missing"),
        (body(session=...), 400, "'session' is missing"),
        (body(message_id=...), 400, "'message_id' is missing"),
        (body(query=5), 400, "'query' is not a text"),
        (body(query=" \n"), 400, "the query is empty"),
        (body(query="x" * 4001), 413, "4001 characters"),
        (body(session="a.b"), 400, "session name"),
        (body(session=""), 400, "session name"),
        (body(session="s" * 65), 400, "session name"),
        (body(session="s\n"), 400, "session name"),
        (body(message_id=""), 400, "message id"),
        (body(message_id="m" * 129), 400, "message id"),
        (body(message_id="m 1"), 400, "message id"),
        (body(message_id="m\n"), 400, "message id"),
        (body(stream="yes"), 400, "'stream' is not true or false"),
        (body(stream=1), 400, "'stream' is not true or false"),
        (body(model="gpt"), 400, "unknown field 'model'"),
    ],
)
def test_each_bad_body_is_refused_with_one_line(content: bytes, http: int, wrong: str) -> None:
    with pytest.raises(Refusal) as refusal:
        read_question(content)
    answer = json.loads(refusal.value.body())
    assert refusal.value.http == http
    assert wrong in answer["error"]
    assert answer["do"]
    assert "\n" not in answer["error"] + answer["do"]


def test_a_query_of_the_longest_length_passes() -> None:
    assert len(read_question(body(query="长" * 4000)).query) == 4000
