"""Server-sent events from a stream of bytes (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_EVENT_BYTES = 1 << 20


class BadStream(ValueError):
    """Bytes that are no event stream."""


@dataclass(frozen=True)
class Event:
    """One event: its type ("message" when the stream names none) and its data lines joined."""

    kind: str
    data: str


def events(chunks: Iterable[bytes]) -> Iterator[Event]:
    """Events as they complete; chunks may be cut anywhere, also inside a character.

    An event without its closing empty line is dropped, as the standard says.
    """
    kind, size = "", 0
    data: list[str] = []
    for line in _lines(chunks):
        size += len(line)
        if size > MAX_EVENT_BYTES:
            raise BadStream(f"an event is longer than {MAX_EVENT_BYTES} bytes")
        if not line:
            if data:
                yield Event(kind or "message", "\n".join(data))
            kind, data, size = "", [], 0
            continue
        name, _, value = _text(line).partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            kind = value
        elif name == "data":
            data.append(value)


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Lines without their ends; LF and CRLF end a line."""
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_EVENT_BYTES:
            raise BadStream(f"a line is longer than {MAX_EVENT_BYTES} bytes")
        for line in lines:
            yield line.removesuffix(b"\r")


def _text(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise BadStream("the event stream is not UTF-8") from None
