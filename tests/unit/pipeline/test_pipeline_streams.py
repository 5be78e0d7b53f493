"""One engine thread serves all streams in turn and outlives each of them."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from apps.pipeline.streams import Job, Streams


@dataclass
class Word:
    text: str
    token: int = 1
    finish: str = ""


@dataclass
class Ear:
    """A client that remembers; `order` is shared, to see whose turn it was."""

    name: str
    order: list[str]
    gone: bool = False
    broken: bool = False
    texts: list[str] = field(default_factory=list)
    failure: str = ""
    ended: threading.Event = field(default_factory=threading.Event)

    def stopped(self) -> bool:
        return self.gone

    def piece(self, piece: Any) -> None:
        if self.broken:
            raise ConnectionError("the client is gone")
        self.order.append(self.name)
        self.texts.append(piece.text)
        if piece.finish:
            self.ended.set()

    def failed(self, reason: str) -> None:
        self.failure = reason
        self.ended.set()
        if self.broken:
            raise ConnectionError("still gone")


def words(ear: Ear, count: int) -> Iterator[Word]:
    for number in range(count):
        if ear.stopped():
            yield Word("", -1, "cancelled")
            return
        yield Word(str(number), finish="stop" if number == count - 1 else "")


def job(ear: Ear, count: int) -> Job:
    return Job(lambda: words(ear, count), ear)


def run(streams: Streams) -> threading.Thread:
    thread = threading.Thread(target=streams.run, daemon=True)
    thread.start()
    return thread


def finish(streams: Streams, thread: threading.Thread) -> None:
    streams.close()
    thread.join(5)
    assert not thread.is_alive()


def test_streams_take_turns() -> None:
    order: list[str] = []
    ears = [Ear(name, order) for name in "abc"]
    streams = Streams(running=3, waiting=0)
    for ear in ears:
        assert streams.submit(job(ear, 3))
    thread = run(streams)
    for ear in ears:
        assert ear.ended.wait(5)
    assert order == list("abcabcabc")
    finish(streams, thread)


def test_more_than_the_running_wait_and_more_than_that_are_refused() -> None:
    order: list[str] = []
    ears = [Ear(name, order) for name in "abcd"]
    streams = Streams(running=1, waiting=2)
    assert [streams.submit(job(ear, 2)) for ear in ears] == [True, True, True, False]
    thread = run(streams)
    for ear in ears[:3]:
        assert ear.ended.wait(5)
    assert order == list("aabbcc")
    finish(streams, thread)


def test_a_client_that_goes_is_not_worked_for() -> None:
    order: list[str] = []
    gone, stays = Ear("g", order, gone=True), Ear("s", order)
    streams = Streams(running=2, waiting=2)
    streams.submit(job(gone, 1000))
    streams.submit(job(stays, 3))
    thread = run(streams)
    assert stays.ended.wait(5)
    assert gone.texts == [""]
    finish(streams, thread)


def test_one_broken_stream_harms_no_other() -> None:
    order: list[str] = []
    bad, broken, good = Ear("x", order), Ear("y", order, broken=True), Ear("z", order)

    def refuse() -> Iterator[Word]:
        raise ValueError("prompt too long")

    def burst() -> Iterator[Word]:
        yield Word("one")
        raise FloatingPointError("not a number")

    worse = Ear("w", order)
    streams = Streams(running=4, waiting=4)
    for one in (Job(refuse, bad), job(broken, 5), Job(burst, worse), job(good, 3)):
        streams.submit(one)
    thread = run(streams)
    assert good.ended.wait(5)
    assert bad.failure == "the model cannot answer (ValueError)"
    assert worse.failure == "the model cannot answer (FloatingPointError)"
    assert broken.failure == "the model cannot answer (ConnectionError)"
    assert good.texts == ["0", "1", "2"]
    finish(streams, thread)


def test_closing_fails_what_is_left_and_takes_nothing_more() -> None:
    order: list[str] = []
    ear = Ear("a", order)
    streams = Streams(running=1, waiting=1)
    streams.submit(job(ear, 2))
    streams.close()
    streams.run()
    assert ear.failure
    assert streams.submit(job(Ear("b", order), 1)) is False


@pytest.mark.parametrize("count", [1, 50])
def test_an_idle_engine_wakes_up(count: int) -> None:
    streams = Streams(running=2, waiting=2)
    thread = run(streams)
    for _ in range(3):
        ear = Ear("a", [])
        assert streams.submit(job(ear, count))
        assert ear.ended.wait(5)
    finish(streams, thread)
