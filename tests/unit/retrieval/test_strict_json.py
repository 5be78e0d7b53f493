"""JSON from outside has one meaning and bounded cost, or is refused in one line."""

import json
import time

import pytest

from apps.strict_json import MAX_DIGITS, BadJSON, loads

ACCEPTED = [
    b"null",
    b' {"a": [1, -2.5e3, true, "\\u00e9\\ud83d\\ude00"]} ',
    '{"query": "我要投诉", "n": {"deep": ["]]]]", "\\"[["]}}'.encode(),
    b"[" * 32 + b"]" * 32,
]


@pytest.mark.parametrize("data", ACCEPTED)
def test_accepts_what_the_standard_reader_means(data: bytes) -> None:
    assert loads(data) == json.loads(data)


REFUSED = [
    (b"", "not JSON"),
    (b"{", "not JSON"),
    (b"[1,]", "not JSON"),
    (b"{} {}", "not JSON"),
    (b'"\x01"', "not JSON"),
    (b"\xef\xbb\xbf{}", "byte order mark"),
    (b'{"a": "\xff"}', "not UTF-8 at byte 7"),
    (b'"\\ud800"', "lone surrogate"),
    (b'{"\\udc00": 1}', "lone surrogate"),
    (b'"\\ud83d\\ude00\\ud83d"', "lone surrogate"),
    (b'["a\\u0000b"]', "U+0000"),
    (b'{"a": 1, "a": 2}', '"a" stands twice'),
    (b'{"a": {"b": 1, "\\u0062": 2}}', '"b" stands twice'),
    (b"NaN", "NaN"),
    (b"[-Infinity]", "-Infinity"),
    (b"1e999", "too large"),
    (b"-1e999", "too large"),
    (b"1" * 5000, "digits"),
    (b"0." + b"1" * MAX_DIGITS, "digits"),
    (b"[" * 33 + b"]" * 33, "deeper than 32"),
    (b'{"a":' * 10000, "deeper than 32"),
    (b'"' + b"x" * 65536 + b'"', "longer than 65536 bytes"),
]


@pytest.mark.parametrize(
    ("data", "why"), REFUSED, ids=[f"{why}-{i}" for i, (_, why) in enumerate(REFUSED)]
)
def test_refuses_in_one_line(data: bytes, why: str) -> None:
    with pytest.raises(BadJSON) as error:
        loads(data)
    assert why in str(error.value)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


def test_a_duplicate_key_with_hostile_text_stays_one_short_line() -> None:
    key = json.dumps("\n\u2028" + "x" * 5000)
    with pytest.raises(BadJSON) as error:
        loads(f"{{{key}: 1, {key}: 2}}".encode())
    assert len(str(error.value).splitlines()) == 1
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    "data",
    [
        b'"' * 65536,
        b"\\" * 65536,
        b'"' + b"\\" * 65535,
        b'["a",' * 13000,
        b"[]," * 20000,
        b"{}" * 32768,
    ],
)
def test_hostile_texts_of_full_length_cost_little(data: bytes) -> None:
    start = time.process_time()
    with pytest.raises(BadJSON):
        loads(data)
    assert time.process_time() - start < 1.0


def test_limits_are_the_callers() -> None:
    assert loads(b"[[1]]", max_depth=2) == [[1]]
    with pytest.raises(BadJSON, match="deeper than 1"):
        loads(b"[[1]]", max_depth=1)
    with pytest.raises(BadJSON, match="longer than 4"):
        loads(b"[[1]]", max_bytes=4)
