"""The token file is strict, because a token that is wrong locks a customer out or lets one in."""

import json

import pytest

from apps.retrieval.tokens import parse
from apps.strict_json import BadJSON

TOKEN = "0123456789abcdef"


def test_tokens_map_to_customers() -> None:
    assert parse(json.dumps({TOKEN: "c-1001"}).encode()) == {TOKEN: "c-1001"}
    assert parse(b"{}") == {}


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ([], "not an object"),
        ({"short": "c-1001"}, "token 1"),
        ({TOKEN: "c-1001", TOKEN + " ": "c-1001"}, "token 2"),
        ({TOKEN: "c 1001"}, "customer"),
        ({TOKEN: None}, "customer"),
        ({TOKEN: {}}, "nested"),
    ],
)
def test_anything_else_is_refused_without_showing_a_token(value: object, why: str) -> None:
    with pytest.raises(BadJSON, match=why) as error:
        parse(json.dumps(value).encode())
    assert TOKEN not in str(error.value)
