"""What a reply's body says about tokens, whatever encoding and pieces it comes in."""

import json
import time
import zlib
from collections.abc import Callable, Iterable
from typing import Any

from observability.tokens.account import Account
from observability.tokens.sse import MOST_BYTES, Parser

_GZIP_OR_ZLIB = 32 + zlib.MAX_WBITS
Decode = Callable[[bytes], bytes]


class Counter:
    """Counts the body of one reply into an account. A content type or encoding that we
    cannot read counts nothing: the account then has what the application reports."""

    def __init__(
        self,
        headers: Iterable[tuple[bytes, bytes]],
        account: Account,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        found = {name.lower(): value.strip().lower() for name, value in headers}
        kind = found.get(b"content-type", b"").partition(b";")[0].strip()
        self._account = account
        self._clock_ns = clock_ns
        self._decode = _decoder(found.get(b"content-encoding", b"identity"))
        self._events = Parser() if kind == b"text/event-stream" else None
        self._whole = bytearray() if kind == b"application/json" else None

    def body(self, chunk: bytes, *, more: bool) -> None:
        """Count the next piece; `more` as in ASGI."""
        try:
            data = self._decode(chunk) if self._decode else b""
        except zlib.error:
            self._decode = None
            return
        if self._events is not None:
            for event in self._events.feed(data):
                self._count(event)
        elif self._whole is not None and len(self._whole) <= MOST_BYTES:
            self._whole += data
            if not more:
                self._count(bytes(self._whole))

    def _count(self, data: bytes) -> None:
        try:
            said = json.loads(data)
        except (ValueError, RecursionError):
            return  # "[DONE]", or nothing that we know
        if not isinstance(said, dict):
            return
        now = self._clock_ns()
        for _ in range(_pieces(said)):
            self._account.piece(now)
        usage = said.get("usage")
        made = usage.get("completion_tokens") if isinstance(usage, dict) else None
        if isinstance(made, int) and not isinstance(made, bool) and made >= 0:
            self._account.usage(made, now)


def _decoder(encoding: bytes) -> Decode | None:
    if encoding in (b"", b"identity"):
        return bytes
    if encoding in (b"gzip", b"x-gzip", b"deflate"):
        return zlib.decompressobj(_GZIP_OR_ZLIB).decompress
    return None


def _pieces(said: dict[str, Any]) -> int:
    """How many pieces of text an event has: our `delta`, or the deltas of chat completions."""
    if isinstance(said.get("text"), str):
        return int(said["text"] != "")
    choices = said.get("choices")
    if not isinstance(choices, list):
        return 0
    return sum(1 for choice in choices if isinstance(choice, dict) and _has_text(choice))


def _has_text(choice: dict[str, Any]) -> bool:
    delta = choice.get("delta")
    text = delta.get("content") if isinstance(delta, dict) else choice.get("text")
    return isinstance(text, str) and text != ""
