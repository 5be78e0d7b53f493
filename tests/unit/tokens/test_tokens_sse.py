"""Server-sent events come whole out of any split and any line end."""

import itertools

import pytest

from observability.tokens.sse import MOST_BYTES, Parser

STREAM = (
    "\ufeffevent: delta\n"
    'data: {"text":"汉字"}\n'
    "\n"
    ": a comment\n"
    "data:no space\n"
    "data\n"
    "data: third line\n"
    "id: 7\n"
    "\n"
    "\n"
    "event: nothing\n"
    "\n"
    "data: [DONE]\n"
    "\n"
)
EVENTS = ['{"text":"汉字"}'.encode(), b"no space\n\nthird line", b"[DONE]"]


def parsed(chunks: list[bytes]) -> list[bytes]:
    parser = Parser()
    return [event for chunk in chunks for event in parser.feed(chunk)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_split_in_two_gives_the_same_events(end: str) -> None:
    stream = STREAM.replace("\n", end).encode()
    for at in range(len(stream) + 1):
        assert parsed([stream[:at], stream[at:]]) == EVENTS, at


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_one_byte_at_a_time_gives_the_same_events(end: str) -> None:
    stream = STREAM.replace("\n", end).encode()
    chunks = [bytes([byte]) for byte in stream]
    assert parsed(list(itertools.chain.from_iterable((chunk, b"") for chunk in chunks))) == EVENTS


def test_an_unfinished_event_is_no_event() -> None:
    assert parsed([b"data: 1\n\ndata: 2\n"]) == [b"1"]


@pytest.mark.parametrize("end", [b"\n", b""])
def test_an_event_that_is_too_long_is_left_out_and_the_next_is_not(end: bytes) -> None:
    parser = Parser()
    long = [b"data: ", *[b"x" * 1024 + end.replace(b"\n", b"\ndata: ")] * (MOST_BYTES // 1024 + 2)]
    events = [event for chunk in [*long, b"\n\n", b"data: 2\n\n"] for event in parser.feed(chunk)]
    assert events == [b"2"]
    assert parser.skipped == 1
