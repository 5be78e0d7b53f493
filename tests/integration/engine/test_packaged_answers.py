"""Answers of the packaged model, through the same door as the pipeline's."""

import random
from collections.abc import Iterator

import pytest

from apps.engine import Engine, Generator, Model, Piece, Sampler, Sampling, Turn, default_path
from apps.engine.core import PAGE, Core
from apps.engine.quant import F32
from apps.engine.slices import Slice
from apps.gateway.numbers import numbers, unsupported


@pytest.fixture(scope="module")
def model() -> Model:
    return Model.open(default_path())


@pytest.fixture(scope="module")
def engine(model: Model) -> Iterator[Engine]:
    with Engine(model) as running:
        yield running


@pytest.fixture(scope="module")
def generator(engine: Engine) -> Generator:
    return Generator(engine)


def answer(generator: Generator, question: str, max_tokens: int = 16) -> list[Piece]:
    return list(generator.stream(question, max_tokens))


def text(pieces: list[Piece]) -> str:
    return "".join(piece.text for piece in pieces)


def test_the_model_knows_a_capital_and_ends_its_turn(generator: Generator) -> None:
    pieces = answer(generator, "What is the capital city of Germany?")
    assert "Berlin" in text(pieces)
    assert pieces[-1].finish == "stop"


def test_three_streams_at_once_say_what_each_says_alone(generator: Generator) -> None:
    questions = ["What is a deductible?", "我的血糖是5.4，正常吗？😀", "Count: 1, 2, 3,"]
    alone = [answer(generator, question) for question in questions]
    streams = [generator.stream(question, 16) for question in questions]
    assert [list(stream) for stream in streams] == alone


def test_a_conversation_that_comes_back_reads_only_what_is_new(
    generator: Generator, engine: Engine
) -> None:
    first = list(generator.stream("What is the capital city of Germany?", 16, session="s"))
    turns = [
        Turn("user", "What is the capital city of Germany?"),
        Turn("assistant", text(first)),
        Turn("user", "And of Italy?"),
    ]
    again = list(generator.stream(turns, 16, session="s"))
    (_, read, kind), *_ = again[0].event.table  # type: ignore[union-attr]
    encode = engine.model.tokenizer.encode
    new = len(encode("user\nAnd of Italy?")) + len(encode("assistant\n")) + len(encode("\n")) + 3
    # Beside the new turn: the end of the model's own, which was made but not read yet.
    assert (read, kind) == (new + 1 + len(encode("\n")), "prefill")


def test_a_number_that_is_no_fact_is_not_said(generator: Generator) -> None:
    question = "What is 2 + 2?"
    assert numbers(text(answer(generator, question))) == ["4"]
    assert numbers(text(list(generator.stream(question, 16, numbers_of=[question])))) == ["2"]


def test_numbers_stay_with_the_facts_in_every_draw(generator: Generator) -> None:
    facts = "The balance is 8250.00 CNY and the limit 12,000. What is left of it in numbers?"
    said = [
        text(list(generator.stream(facts, 40, sampling=Sampling(1.0, seed=n), numbers_of=[facts])))
        for n in range(4)
    ]
    assert any(numbers(one) for one in said), said
    assert [unsupported(one, [facts]) for one in said] == [[], [], [], []]


class Recorder(Sampler):
    """Keeps the logits of every token that it chose."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[F32] = []

    def choose(self, logits: F32, left: int) -> int:
        self.seen.append(logits.copy())
        return super().choose(logits, left)


def test_thirty_sessions_equal_uncached_runs_to_the_bit(
    model: Model, generator: Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some at once, half of them a second time in another company, all behind one system turn."""
    chance = random.Random(3)
    words = ["insurance", "balance", "limit", "doctor", "blood sugar", "12.5", "余额", "化验"]
    asked = [" ".join(chance.choices(words, k=chance.randint(2, 40))) for _ in range(20)]
    asked += chance.sample(asked, 10)
    recorders: list[Recorder] = []

    def recorder(*_: object) -> Recorder:
        recorders.append(Recorder())
        return recorders[-1]

    monkeypatch.setattr("apps.engine.generator.Sampler", recorder)
    made: list[list[int]] = []
    for start in range(0, 30, 6):
        streams = [generator.stream(one, chance.randint(2, 10)) for one in asked[start : start + 6]]
        made += [[piece.token for piece in stream] for stream in streams]
    prompts = [generator._chat.prompt(one) for one in asked]
    alone = Core(model, pool_tokens=512)
    for prompt, tokens, seen in zip(prompts, made, (one.seen for one in recorders), strict=True):
        whole = (prompt + tokens)[:-1]
        pages = range(-(-len(whole) // PAGE))
        expected = alone.forward([Slice(whole, 0, list(pages), "every")])[len(prompt) - 1 :]
        assert (expected == seen).all()
    alone.close()
