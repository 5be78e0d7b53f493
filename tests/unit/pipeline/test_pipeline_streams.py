"""One thread carries all streams to their clients and outlives each of them."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from apps.engine import Busy, Piece, Stream
from apps.engine.detokenizer import BadByte
from apps.pipeline.streams import Job, Streams
from observability.probes.request import REQUEST_ID


@dataclass
class Ear:
    """A client that remembers."""

    gone: bool = False
    broken: bool = False
    texts: list[str] = field(default_factory=list)
    failure: str = ""
    ended: threading.Event = field(default_factory=threading.Event)
    heard: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    held: threading.Event | None = None

    def stopped(self) -> bool:
        return self.gone

    def piece(self, piece: Any) -> None:
        if self.held:
            assert self.held.wait(20)
        if self.broken:
            raise ConnectionError("the client is gone")
        self.texts.append(piece.text)
        self.heard.release()
        if piece.finish:
            self.ended.set()

    def failed(self, reason: str) -> None:
        self.failure = reason
        self.ended.set()
        if self.broken:
            raise ConnectionError("still gone")


class Source:
    """The engine's side of one stream."""

    def __init__(self, request: str = "r") -> None:
        self.request = request
        self.stops = threading.Semaphore(0)
        self.opened = threading.Event()

    def open(self, heard: Callable[[Stream], None]) -> Stream:
        self.stream = Stream(
            self.request, 4, stop=self.stops.release, read=lambda: None, heard=heard
        )
        self.opened.set()
        return self.stream

    def say(self, *texts: str, finish: str = "") -> None:
        assert self.opened.wait(20)
        for number, text in enumerate(texts):
            self.stream.put(Piece(text, 7, finish if number == len(texts) - 1 else ""))


@pytest.fixture
def streams() -> Iterator[Streams]:
    carrying = Streams()
    thread = threading.Thread(target=carrying.run, daemon=True)
    thread.start()
    yield carrying
    carrying.close()
    thread.join(20)
    assert not thread.is_alive()


def begin(streams: Streams, ear: Ear) -> Source:
    source = Source()
    streams.submit(Job("r", source.open, ear))
    return source


def test_pieces_come_in_their_order_to_their_own_client(streams: Streams) -> None:
    ears = [Ear(), Ear()]
    sources = [begin(streams, ear) for ear in ears]
    for source, texts in zip(sources, ("abc", "xyz"), strict=True):
        source.say(*texts, finish="stop")
    for ear, texts in zip(ears, ("abc", "xyz"), strict=True):
        assert ear.ended.wait(20)
        assert ear.texts == list(texts)


def test_what_the_one_thread_does_for_a_stream_it_does_for_that_streams_request(
    streams: Streams,
) -> None:
    named: dict[str, set[bytes]] = {"one": set(), "two": set()}

    class Noting(Ear):
        def __init__(self, of: str) -> None:
            super().__init__()
            self.of = of

        def stopped(self) -> bool:
            named[self.of].add(REQUEST_ID.get())
            return False

        def piece(self, piece: Any) -> None:
            named[self.of].add(REQUEST_ID.get())
            super().piece(piece)

    ears = {name: Noting(name) for name in named}
    sources = {name: Source(name) for name in named}
    for name, source in sources.items():
        opened = partial(_opening, source, named[name])
        streams.submit(Job(name, opened, ears[name]))
    for turn in range(3):
        for source in sources.values():
            source.say("a", finish="stop" if turn == 2 else "")
    for ear in ears.values():
        assert ear.ended.wait(20)
    assert named == {"one": {b"one"}, "two": {b"two"}}


def _opening(source: Source, named: set[bytes], heard: Callable[[Stream], None]) -> Stream:
    named.add(REQUEST_ID.get())
    return source.open(heard)


def test_bytes_that_are_no_text_are_on_record(
    streams: Streams, caplog: pytest.LogCaptureFixture
) -> None:
    ear = Ear()
    source = begin(streams, ear)
    assert source.opened.wait(20)
    source.stream.put(Piece("a", 7, "stop", (BadByte(3, 0xFF, 7),)))
    assert ear.ended.wait(20)
    (line,) = caplog.messages
    assert "answer r: left out" in line
    assert "BadByte(offset=3, byte=255, token=7)" in line


def test_submitting_waits_for_nobody(streams: Streams) -> None:
    slow = Ear(held=threading.Event())
    begin(streams, slow).say("a", finish="stop")
    other = begin(streams, Ear())
    assert not other.opened.is_set()
    assert slow.held
    slow.held.set()
    assert slow.ended.wait(20)
    assert other.opened.wait(20)


def test_a_client_that_goes_is_noticed_with_its_next_piece(streams: Streams) -> None:
    ear = Ear()
    source = begin(streams, ear)
    source.say("a")
    assert ear.heard.acquire(timeout=20)
    ear.gone = True
    source.say("b")
    assert source.stops.acquire(timeout=20)
    source.say("", finish="cancelled")
    assert ear.ended.wait(20)
    assert ear.texts == ["a", "b", ""]


def test_a_client_that_goes_before_its_first_piece_is_noticed_too(streams: Streams) -> None:
    ear = Ear(gone=True)
    source = begin(streams, ear)
    assert source.stops.acquire(timeout=20)


def test_a_client_that_goes_is_noticed_however_much_there_is_to_carry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("apps.pipeline.streams.LOOK_EVERY_S", 0.0)
    gone, busy = Source(), Source()
    stopped: list[bool] = []

    def open_(heard: Callable[[Stream], None]) -> Stream:
        stopped.append(gone.stops.acquire(blocking=False))
        return busy.open(heard)

    carrying = Streams()
    carrying.submit(Job("r", gone.open, Ear(gone=True)))
    carrying.submit(Job("r", open_, Ear()))
    carrying.close()
    carrying.run()
    assert stopped == [True]


def test_one_broken_stream_harms_no_other(streams: Streams) -> None:
    refused, broken, worse, good = Ear(), Ear(broken=True), Ear(), Ear()

    def refuse(heard: Callable[[Stream], None]) -> Stream:
        raise Busy("too many answers; ask again later")

    streams.submit(Job("r", refuse, refused))
    cut = begin(streams, broken)
    failing = begin(streams, worse)
    source = begin(streams, good)
    cut.say("a", "b")
    assert failing.opened.wait(20)
    failing.stream.fail(FloatingPointError("not a number"))
    source.say("0", "1", finish="length")
    for ear in (refused, broken, worse, good):
        assert ear.ended.wait(20)
    assert refused.failure == "the model cannot answer (too many answers; ask again later)"
    assert broken.failure == "the model cannot answer (ConnectionError)"
    assert cut.stops.acquire(timeout=20), "nobody reads it, and it goes on"
    assert worse.failure == "the model cannot answer (FloatingPointError)"
    assert good.texts == ["0", "1"]


def test_what_was_made_before_a_failure_still_arrives(streams: Streams) -> None:
    ear = Ear(held=threading.Event())
    source = begin(streams, ear)
    source.say("a", "b")
    source.stream.fail(RuntimeError("lost"))
    assert ear.held
    ear.held.set()
    assert ear.ended.wait(20)
    assert (ear.texts, bool(ear.failure)) == (["a", "b"], True)


def test_closing_fails_what_is_left() -> None:
    streams, ear = Streams(), Ear()
    source = begin(streams, ear)
    streams.close()
    streams.run()
    assert ear.failure == "the model cannot answer (RuntimeError)"
    assert source.stops.acquire(timeout=20)
