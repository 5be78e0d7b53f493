"""The signed, short-lived statement of who is asking: made by the gateway, checked by the rest.

Text form: `v1.<customer>.<session>.<expiry>.<mac>`; expiry in Unix seconds, mac the lower-case
hex HMAC-SHA256 of everything before the last dot. The function `identity.customer()` in
PostgreSQL checks the same form. Standard library only.
"""

import hashlib
import hmac
import re
from dataclasses import dataclass

KEY_BYTES = 32
MAX_LIFETIME_S = 900

_NAME = r"[A-Za-z0-9_-]{1,64}"
_FORM = re.compile(rf"v1\.({_NAME})\.({_NAME})\.([1-9][0-9]{{0,11}})\.([0-9a-f]{{64}})", re.ASCII)
_NAME_FORM = re.compile(_NAME, re.ASCII)


class BadAssertion(ValueError):
    """An assertion, or a part of one, that cannot be used; `str()` is one line."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """Who asks: customer and session names, valid until `expires` (Unix seconds)."""

    customer: str
    session: str
    expires: int


def key_from_hex(text: str) -> bytes:
    """Return the signing key written as 64 hex digits, as in ASSERTION_KEY."""
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES or len(text) != 2 * KEY_BYTES:
        raise BadAssertion(
            f"ASSERTION_KEY must be {2 * KEY_BYTES} hex digits: openssl rand -hex 32"
        )
    return key


def is_name(text: str) -> bool:
    """Whether `text` may be a customer or session name: 1 to 64 of A-Z a-z 0-9 _ -."""
    return _NAME_FORM.fullmatch(text) is not None


def sign(key: bytes, customer: str, session: str, expires: int) -> str:
    """Return the assertion that `customer` asks in `session` until `expires` (Unix seconds).

    An expiry more than `MAX_LIFETIME_S` ahead is refused by everyone who verifies.
    """
    for what, name in (("customer", customer), ("session", session)):
        if not is_name(name):
            raise BadAssertion(f"a {what} name must be 1 to 64 of A-Z a-z 0-9 _ -")
    head = f"v1.{customer}.{session}.{int(expires)}"
    return f"{head}.{_mac(key, head)}"


def verify(key: bytes, text: str, now: float) -> Assertion:
    """Return what `text` asserts, or raise `BadAssertion` if `key` did not sign it for `now`."""
    match = _FORM.fullmatch(text)
    if match is None:
        raise BadAssertion("the assertion has not the form v1.customer.session.expiry.mac")
    customer, session, expires, mac = match.groups()
    head = text[: -len(mac) - 1]
    if not hmac.compare_digest(_mac(key, head), mac):
        raise BadAssertion("the assertion was not signed with this key")
    if not now < int(expires) <= now + MAX_LIFETIME_S:
        raise BadAssertion("the assertion has expired, or ends too far ahead; ask for a new one")
    return Assertion(customer, session, int(expires))


def _mac(key: bytes, head: str) -> str:
    return hmac.new(key, head.encode("ascii"), hashlib.sha256).hexdigest()
