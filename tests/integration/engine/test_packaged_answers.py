"""Answers of the packaged model, through the same door as the pipeline's."""

import pytest

from apps.engine import Engine, Generator, Model, Piece, default_path


@pytest.fixture(scope="module")
def generator() -> Generator:
    return Generator(Engine(Model.open(default_path()), threads=1))


def answer(generator: Generator, question: str, max_tokens: int = 16) -> list[Piece]:
    return list(generator.stream(question, max_tokens, lambda: False))


def test_the_model_knows_a_capital_and_ends_its_turn(generator: Generator) -> None:
    pieces = answer(generator, "What is the capital of France?")
    assert "Paris" in "".join(piece.text for piece in pieces)
    assert pieces[-1].finish == "stop"


def test_three_streams_in_turn_say_what_each_says_alone(generator: Generator) -> None:
    questions = ["What is a deductible?", "我的血糖是5.4，正常吗？😀", "Count: 1, 2, 3,"]
    alone = [answer(generator, question) for question in questions]
    streams = [generator.stream(question, 16, lambda: False) for question in questions]
    taken: list[list[Piece]] = [[] for _ in questions]
    while any(not got or not got[-1].finish for got in taken):
        for stream, got in zip(streams, taken, strict=True):
            got.extend(piece for piece in [next(stream, None)] if piece)
    assert taken == alone
