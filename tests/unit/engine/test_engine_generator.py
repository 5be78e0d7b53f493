from collections.abc import Iterator

import pytest

from apps.engine.detokenizer import BadByte
from apps.engine.engine import CHUNK, Engine
from apps.engine.errors import BadRequest, BadText, PromptTooLong
from apps.engine.generator import NO_TOKEN, Generator, Piece
from apps.engine.quant import F32
from apps.engine.sampler import Sampler


class Spoken(Sampler):
    """Says the given tokens, whatever the logits."""

    def __init__(self, tokens: list[int]) -> None:
        super().__init__()
        self._tokens: Iterator[int] = iter(tokens)

    def choose(self, logits: F32) -> int:
        return next(self._tokens)


def never() -> bool:
    return False


def say(engine: Engine, data: bytes, *, max_tokens: int = 50, end: bool = True) -> list[Piece]:
    """The pieces of an answer that consists of these bytes, one token a byte."""
    tokenizer = engine.model.tokenizer
    single = {tokenizer.bytes(token): token for token in range(3, 259)}
    tokens = [single[bytes([byte])] for byte in data] + ([2] if end else [])
    return list(Generator(engine).stream("Hi", max_tokens, never, sampler=Spoken(tokens)))


def test_an_answer_comes_as_whole_characters_and_stops(engine: Engine) -> None:
    pieces = say(engine, "é 医!".encode())
    assert [piece.text for piece in pieces] == ["", "é", " ", "", "", "医", "!", ""]
    assert [piece.finish for piece in pieces] == [""] * 7 + ["stop"]
    assert pieces[-1] == Piece("", 2, "stop")


def test_the_last_allowed_token_is_finished_with_length(engine: Engine) -> None:
    pieces = say(engine, b"abcdef", max_tokens=3)
    assert [(piece.text, piece.finish) for piece in pieces] == [
        ("a", ""), ("b", ""), ("c", "length"),
    ]  # fmt: skip


def test_bad_bytes_come_with_the_piece_that_proved_them(engine: Engine) -> None:
    pieces = say(engine, b"a\xffb\xe5", end=True)
    found = [(piece.text, [(bad.offset, bad.byte) for bad in piece.bad]) for piece in pieces]
    assert found == [("a", []), ("", [(1, 0xFF)]), ("b", []), ("", []), ("", [(3, 0xE5)])]
    assert isinstance(pieces[1].bad[0], BadByte)
    assert pieces[1].bad[0].token == pieces[1].token


def test_a_stop_takes_effect_before_the_next_token(engine: Engine) -> None:
    stopped = False
    stream = Generator(engine).stream("Hi", 50, lambda: stopped, sampler=Spoken([30] * 50))
    assert [next(stream).token for _ in range(3)] == [30, 30, 30]
    stopped = True
    assert list(stream) == [Piece("", NO_TOKEN, "cancelled")]


def test_a_stop_takes_effect_while_a_long_prompt_is_read(engine: Engine) -> None:
    answers = iter([False, True])
    stream = Generator(engine).stream("x" * (CHUNK + 20), 5, lambda: next(answers), system="")
    assert list(stream) == [Piece("", NO_TOKEN, ""), Piece("", NO_TOKEN, "cancelled")]


def test_streams_taken_in_turn_equal_each_alone(engine: Engine) -> None:
    generator = Generator(engine)
    questions = ["What is a deductible?", "Read my report", "12"]
    alone = [list(generator.stream(question, 8, never)) for question in questions]
    streams = [generator.stream(question, 8, never) for question in questions]
    taken: list[list[Piece]] = [[] for _ in questions]
    live = list(range(len(questions)))
    while live:
        for number in list(live):
            piece = next(streams[number])
            taken[number].append(piece)
            if piece.finish:
                live.remove(number)
    assert taken == alone


def test_a_closed_stream_leaves_the_engine_usable(engine: Engine) -> None:
    generator = Generator(engine)
    abandoned = generator.stream("Hi", 8, never)
    next(abandoned)
    del abandoned
    assert list(generator.stream("Hi", 2, never))


def test_refusals_come_at_the_call_not_at_the_first_piece(engine: Engine) -> None:
    generator = Generator(engine)
    with pytest.raises(PromptTooLong, match="shorten"):
        generator.stream("too long " * 400, 5, never)
    with pytest.raises(BadRequest):
        generator.stream("Hi", 0, never)
    with pytest.raises(BadText):
        generator.stream("\ud800", 5, never)


def test_the_system_turn_is_the_callers(engine: Engine) -> None:
    generator = Generator(engine)
    own = list(generator.stream("Hi", 6, never, system="You explain."))
    assert own != list(generator.stream("Hi", 6, never))
    assert own == list(generator.stream("Hi", 6, never, system="You explain."))
