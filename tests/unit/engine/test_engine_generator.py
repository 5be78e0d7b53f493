"""Questions in, whole characters out; what ends an answer and what never shows in one."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from apps.engine.chat import Turn
from apps.engine.detokenizer import BadByte
from apps.engine.engine import Engine
from apps.engine.errors import BadRequest, BadText, PromptTooLong
from apps.engine.generator import Generator
from apps.engine.model import Model
from apps.engine.quant import F32
from apps.engine.sampler import Sampling
from apps.engine.stream import NO_TOKEN, Piece
from apps.gateway.numbers import numbers, unsupported
from tests.unit.engine.fake_core import VOCABULARY, FakeCore


class Spoken(FakeCore):
    """Says the given tokens after the first prompt, whatever was said."""

    def __init__(self, *tokens: int) -> None:
        super().__init__()
        self._tokens = iter(tokens)

    def _logits(self, slice_: Any) -> F32:
        logits = super()._logits(slice_)
        logits[next(self._tokens)] = 1e4
        return logits


@pytest.fixture
def running(tiny: Model) -> Iterator[Engine]:
    with Engine(tiny, FakeCore()) as engine:  # type: ignore[arg-type]
        yield engine


@pytest.fixture
def generator(running: Engine) -> Generator:
    return Generator(running)


def single(model: Model, data: bytes) -> list[int]:
    """One token for each byte."""
    tokens = {model.tokenizer.bytes(token): token for token in range(VOCABULARY - 7)}
    return [tokens[bytes([byte])] for byte in data]


def say(
    tiny: Model, data: bytes, *, max_tokens: int = 50, end: bool = True, **more: Any
) -> list[Piece]:
    """The pieces of an answer that consists of these bytes."""
    core = Spoken(*single(tiny, data), *([2] if end else []))
    with Engine(tiny, core) as engine:  # type: ignore[arg-type]
        return list(Generator(engine).stream("Hi", max_tokens, **more))


def test_an_answer_comes_as_whole_characters_and_stops(tiny: Model) -> None:
    pieces = say(tiny, "é 医!".encode())
    assert [piece.text for piece in pieces] == ["", "é", " ", "", "", "医", "!", ""]
    assert [piece.finish for piece in pieces] == [""] * 7 + ["stop"]
    assert pieces[-1] == Piece("", 2, "stop")


def test_the_last_allowed_token_is_finished_with_length(tiny: Model) -> None:
    pieces = say(tiny, b"abcdef", max_tokens=3)
    assert [(piece.text, piece.finish) for piece in pieces] == [
        ("a", ""), ("b", ""), ("c", "length"),
    ]  # fmt: skip


def test_bad_bytes_come_with_the_piece_that_proved_them(tiny: Model) -> None:
    pieces = say(tiny, b"a\xffb\xe5")
    found = [(piece.text, [(bad.offset, bad.byte) for bad in piece.bad]) for piece in pieces]
    assert found == [("a", []), ("", [(1, 0xFF)]), ("b", []), ("", []), ("", [(3, 0xE5)])]
    assert isinstance(pieces[1].bad[0], BadByte)
    assert pieces[1].bad[0].token == pieces[1].token


def test_a_stop_string_ends_the_answer_and_no_part_of_it_shows(tiny: Model) -> None:
    pieces = say(tiny, b"one st two STOP three", stops=["STOP"])
    assert "".join(piece.text for piece in pieces) == "one st two "
    assert [piece.finish for piece in pieces][-1] == "stop"
    assert len(pieces) == len(b"one st two STOP")


def test_what_was_held_back_for_a_stop_string_comes_at_the_end(tiny: Model) -> None:
    for end in (True, False):
        pieces = say(tiny, b"a STO", stops=["STOP"], max_tokens=5 + end, end=end)
        assert "".join(piece.text for piece in pieces) == "a STO"


def test_a_stop_token_ends_the_answer_and_shows_none_of_its_text(tiny: Model) -> None:
    (bang,) = single(tiny, b"!")
    pieces = say(tiny, b"ab!c", stop_ids=[bang])
    assert [(piece.text, piece.finish) for piece in pieces] == [("a", ""), ("b", ""), ("", "stop")]


def test_tokens_are_numbered_timed_and_named(generator: Generator) -> None:
    pieces = list(generator.stream("Hi", 4, request="r-1"))
    events = [piece.event for piece in pieces]
    assert all(event is not None for event in events)
    ids = [event.id for event in events if event]
    times = [event.at_ns for event in events if event]
    assert ids == sorted(set(ids))
    assert times == sorted(times)
    assert {event.request for event in events if event} == {"r-1"}
    assert events[0].table[0][0] == "r-1"  # type: ignore[union-attr]


def test_a_token_says_how_much_of_its_prompt_was_computed_before(generator: Generator) -> None:
    question = "the same long question " * 3
    said = [next(generator.stream(question, 1)).event for _ in range(2)]
    assert said[0]
    assert said[1]
    assert said[0].prompt == said[1].prompt > 0
    assert said[0].found == 0 < said[1].found < said[1].prompt


def test_a_stopped_stream_says_nothing_more(generator: Generator) -> None:
    stream = generator.stream("Hi", 300, room=1)
    first = next(stream)
    stream.stop()
    rest = list(stream)
    assert first.token != NO_TOKEN
    assert rest[-1] == Piece("", NO_TOKEN, "cancelled")
    assert len(rest) <= 2


def test_a_session_is_stopped_from_outside(generator: Generator, running: Engine) -> None:
    stream = generator.stream("Hi", 300, session="s", room=1)
    next(stream)
    assert running.stop("s") == 1
    assert list(stream)[-1].finish == "cancelled"


def test_no_more_is_made_than_a_slow_reader_has_room_for(
    generator: Generator, running: Engine
) -> None:
    heard = threading.Semaphore(0)
    slow = generator.stream("Hi", 100, room=3, heard=lambda stream: heard.release())
    for _ in range(3):
        assert heard.acquire(timeout=20)
    quick = list(generator.stream("Ho", 40))
    assert len(quick) == 40
    assert len(slow.take()) == 3
    assert len(list(slow)) == 97


def test_a_reader_who_does_not_read_holds_nobody_up_and_loses_nothing(
    generator: Generator,
) -> None:
    alone = list(generator.stream("Long " * 30, 150, session="s"))
    slow = generator.stream("Long " * 30, 150, session="s", room=1)
    begun = [next(slow)]
    # There is room for one of them only.
    others = [list(generator.stream(f"Other {n} " * 20, 150)) for n in range(2)]
    assert [other[-1].finish for other in others] == ["length"] * 2
    assert begun + list(slow) == alone


def test_at_a_deadline_a_reader_gets_what_was_made(tiny: Model) -> None:
    heard = threading.Semaphore(0)
    with Engine(tiny, Spoken(*single(tiny, b"a STO" * 2))) as engine:  # type: ignore[arg-type]
        stream = Generator(engine).stream(
            "Hi", 9, stops=["STOP"], room=5, deadline_s=0.4, heard=lambda stream: heard.release()
        )
        for _ in range(6):
            assert heard.acquire(timeout=20)
        pieces = list(stream)
    assert "".join(piece.text for piece in pieces) == "a STO"
    assert [piece.finish for piece in pieces] == [""] * 5 + ["deadline"]


def test_streams_at_once_equal_each_alone(generator: Generator) -> None:
    questions = ["What is a deductible?", "Read my report", "12", "What is a deductible?"]
    alone = [list(generator.stream(question, 8)) for question in questions]
    streams = [generator.stream(question, 8) for question in questions]
    assert [list(stream) for stream in streams] == alone


def test_a_seed_gives_the_same_answer_in_any_company(generator: Generator) -> None:
    how = Sampling(temperature=1.0, top_p=0.9, seed=5)
    alone = list(generator.stream("Hi", 20, sampling=how))
    company = [generator.stream(f"Other {n}", 20, sampling=Sampling(1.0, seed=n)) for n in range(4)]
    assert list(generator.stream("Hi", 20, sampling=how)) == alone
    for stream in company:
        assert len(list(stream)) == 20
    assert list(generator.stream("Hi", 20, sampling=Sampling(1.0, top_p=0.9, seed=6))) != alone


def said(generator: Generator, how: Sampling, limited: list[str] | None) -> str:
    pieces = generator.stream("Hi", 40, sampling=how, numbers_of=limited)
    return "".join(piece.text for piece in pieces)


def test_an_answer_has_only_numbers_of_its_facts(generator: Generator) -> None:
    """A model that draws nearly evenly from all tokens, so digits come often."""
    facts = "Balance 8250.00 CNY, 3.9–6.1"
    keen = dict.fromkeys(single(generator._engine.model, b"0123456789"), 20.0)
    free, bound = (
        "\n".join(
            said(generator, Sampling(10, seed=seed, logit_bias=keen), limited) for seed in range(20)
        )
        for limited in (None, [facts])
    )
    assert len(unsupported(free, [facts])) > 10
    assert len(numbers(bound)) > 20
    assert unsupported(bound, [facts]) == []


def test_a_conversation_goes_on_where_its_computation_ended(
    generator: Generator, running: Engine, tiny: Model
) -> None:
    core = running.core
    assert isinstance(core, FakeCore)
    answer = "".join(piece.text for piece in generator.stream("Hi", 4, session="s"))
    before = len(core.calls)
    turns = [Turn("user", "Hi"), Turn("assistant", answer), Turn("user", "And?")]
    list(generator.stream(turns, 1, session="s"))
    read = [len(slice_.tokens) for call in core.calls[before:] for slice_ in call]
    encode = tiny.tokenizer.encode
    new = [1, *encode("user\nAnd?"), 2, *encode("\n"), 1, *encode("assistant\n")]
    if encode(answer) == [piece.token for piece in generator.stream("Hi", 4)]:
        assert read == [1 + 1 + len(encode("\n")) + len(new)]
    assert sum(read) < len(encode("system\n")) + 200


def test_a_conversation_ends_with_the_user(generator: Generator) -> None:
    with pytest.raises(BadRequest, match="ends with the user's turn"):
        generator.stream([Turn("user", "Hi"), Turn("assistant", "Ho")], 4)
    with pytest.raises(BadRequest, match="ends with the user's turn"):
        generator.stream([], 4)


def test_refusals_come_at_the_call_not_at_the_first_piece(generator: Generator) -> None:
    with pytest.raises(PromptTooLong, match="shorten"):
        generator.stream("too long " * 400, 5)
    with pytest.raises(BadRequest):
        generator.stream("Hi", 0)
    with pytest.raises(BadRequest):
        generator.stream("Hi", 5, stops=[""])
    with pytest.raises(BadRequest, match=f"token {VOCABULARY}; this model's last"):
        generator.stream("Hi", 5, sampling=Sampling(logit_bias={VOCABULARY: 1}))
    for token in (-1, VOCABULARY):
        with pytest.raises(BadRequest, match=f"stop token {token}; token ids go from 0"):
            generator.stream("Hi", 5, stop_ids=[token])
    with pytest.raises(BadRequest, match="room for 0 pieces; choose 1"):
        generator.stream("Hi", 5, room=0)
    with pytest.raises(BadText):
        generator.stream("\ud800", 5)


def test_a_failed_answer_is_an_error_for_its_reader(tiny: Model) -> None:
    core = FakeCore()
    core.fails = MemoryError("no room")
    with Engine(tiny, core) as engine:  # type: ignore[arg-type]
        with pytest.raises(MemoryError):
            list(Generator(engine).stream("Hi", 5))
        over = threading.Event()
        stream = Generator(engine).stream("Hi", 5, heard=lambda stream: over.set())
        assert over.wait(20)
        with pytest.raises(MemoryError):
            stream.take()


def test_the_system_turn_is_the_callers(generator: Generator) -> None:
    own = list(generator.stream("Hi", 6, system="You explain."))
    assert own != list(generator.stream("Hi", 6))
    assert own == list(generator.stream("Hi", 6, system="You explain."))
