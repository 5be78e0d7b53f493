"""JSON from outside, read strictly: bounded, and with one meaning only.

The standard reader takes duplicate keys, NaN and lone surrogates, and overflows the stack
on deep nesting; two readers may then disagree on what a message said. This one refuses.
"""

import json
import math
import re
from typing import Any, NoReturn

MAX_DIGITS = 100

# A string is skipped whole, so that brackets inside it do not count. Possessive repeats
# keep a hostile text linear; the closing quote is optional for a string that never ends.
_STRING_OR_BRACKET = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)


class BadJSON(ValueError):
    """Text that is not acceptable JSON; `str()` is one line for the sender."""


def loads(data: bytes, *, max_bytes: int = 65536, max_depth: int = 32) -> Any:
    """Return the value of one JSON text, or raise `BadJSON`.

    Refused: more than `max_bytes`, arrays and objects nested deeper than `max_depth`, text
    that is not UTF-8, a key that stands twice in one object, NaN and infinities (written out
    or by overflow), numbers of more than `MAX_DIGITS` characters, lone surrogates, and
    U+0000 (which PostgreSQL's text cannot hold).
    """
    if len(data) > max_bytes:
        raise BadJSON(f"the body is longer than {max_bytes} bytes; send less")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadJSON(f"the body is not UTF-8 at byte {error.start}; send UTF-8") from None
    _check_depth(text, max_depth)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_float,
            parse_int=_int,
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise BadJSON(f"the body is not JSON: {_reason(error)} at {where}") from None
    _check_characters(value)
    return value


def _reason(error: json.JSONDecodeError) -> str:
    return "a byte order mark" if "BOM" in error.msg else error.msg.lower().rstrip(" at")


def _check_depth(text: str, max_depth: int) -> None:
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        first = match[0][0]
        if first in "[{":
            depth += 1
            if depth > max_depth:
                raise BadJSON(f"the body is nested deeper than {max_depth} levels; flatten it")
        elif first in "]}":
            depth -= 1


def _check_characters(value: Any) -> None:
    """Refuse characters that escapes can write but that no UTF-8 text or column can hold."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if "\0" in item:
                raise BadJSON("a string holds the character U+0000; leave it out")
            if not item.isascii() and any("\ud800" <= char <= "\udfff" for char in item):
                raise BadJSON("a string holds a lone surrogate; send whole characters")
        elif isinstance(item, dict):
            pending.extend(item.keys())
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            shown = json.dumps(key[:40])
            raise BadJSON(f"the key {shown} stands twice in one object; send it once")
        result[key] = value
    return result


def _constant(name: str) -> NoReturn:
    raise BadJSON(f"{name} is not a JSON number; send a finite number or null")


def _float(text: str) -> float:
    _check_digits(text)
    value = float(text)
    if not math.isfinite(value):
        raise BadJSON("a number is too large for a 64-bit float; send a smaller one")
    return value


def _int(text: str) -> int:
    _check_digits(text)
    return int(text)


def _check_digits(text: str) -> None:
    if len(text) > MAX_DIGITS:
        raise BadJSON(f"a number has more than {MAX_DIGITS} digits; send fewer")
