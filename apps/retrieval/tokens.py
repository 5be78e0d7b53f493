"""The file of bearer tokens: JSON {token: customer}. Pure."""

import re

from apps.retrieval.assertion import is_name
from apps.strict_json import BadJSON, loads

# RFC 6750's token68, long enough that guessing is hopeless.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{16,200}=*", re.ASCII)


def parse(data: bytes) -> dict[str, str]:
    """Return {token: customer}, or raise `BadJSON` in one line that shows no token."""
    value = loads(data, max_bytes=1 << 20, max_depth=1)
    if not isinstance(value, dict):
        raise BadJSON("not an object; write {token: customer}")
    for position, (token, customer) in enumerate(value.items(), start=1):
        if _TOKEN.fullmatch(token) is None:
            raise BadJSON(f"token {position} is not 16 to 200 of A-Z a-z 0-9 . _ ~ + / -")
        if not (isinstance(customer, str) and is_name(customer)):
            raise BadJSON(f"token {position} does not name a customer")
    return value
