import numpy as np
import pytest
from threadpoolctl import threadpool_info

from apps.engine.engine import CHUNK, Engine, threads_from_environment
from apps.engine.errors import BadRequest, PromptTooLong
from apps.engine.model import Model
from apps.engine.quant import F32
from apps.engine.sampler import Sampler
from apps.engine.sequence import Sequence

PROMPT = list(range(3, 40))


class Scripted(Sampler):
    """Gives the next token of a list, and keeps the logits that it saw."""

    def __init__(self, *tokens: int) -> None:
        super().__init__()
        self._tokens = iter(tokens)
        self.seen: list[F32] = []

    def choose(self, logits: F32) -> int:
        self.seen.append(logits.copy())
        return next(self._tokens)


def finish(engine: Engine, sequence: Sequence) -> Sequence:
    while not sequence.finish:
        engine.step(sequence)
    return sequence


def test_a_sequence_ends_with_length_after_its_tokens(engine: Engine) -> None:
    sequence = finish(engine, engine.sequence(PROMPT, 5, sampler=Scripted(*range(10, 20))))
    assert (sequence.made, sequence.finish) == ([10, 11, 12, 13, 14], "length")


@pytest.mark.parametrize("control", [0, 1, 2])
def test_any_control_token_ends_the_turn(engine: Engine, control: int) -> None:
    sequence = finish(engine, engine.sequence(PROMPT, 5, sampler=Scripted(10, control, 11)))
    assert (sequence.made, sequence.finish) == ([10, control], "stop")


def test_the_context_bounds_an_answer(engine: Engine) -> None:
    prompt = [10] * 395
    sequence = finish(engine, engine.sequence(prompt, 100, sampler=Scripted(*range(10, 120))))
    assert len(sequence.made) == 5
    assert sequence.finish == "length"
    assert sequence.cache.length <= sequence.cache.capacity == engine.max_context


def test_a_prompt_without_room_for_a_token_is_refused(engine: Engine) -> None:
    engine.sequence([10] * 399, 1)
    with pytest.raises(
        PromptTooLong, match="402 tokens, the context 400; shorten it by at least 3"
    ):
        engine.sequence([10] * 402, 1)


def test_the_context_is_never_more_than_the_models(tiny: Model) -> None:
    assert Engine(tiny, threads=1, max_context=1 << 20).max_context == tiny.config.context


@pytest.mark.parametrize(
    ("prompt", "max_tokens", "shared"),
    [([], 5, 0), (PROMPT, 0, 0), (PROMPT, 5, len(PROMPT)), (PROMPT, 5, -1),
     ([-1], 5, 0), ([263 + 3 + 7], 5, 0)],
)  # fmt: skip
def test_an_impossible_request_is_refused(
    engine: Engine, prompt: list[int], max_tokens: int, shared: int
) -> None:
    with pytest.raises(BadRequest):
        engine.sequence(prompt, max_tokens, shared=shared)


def test_sequences_stepped_in_turn_give_the_bits_of_each_alone(engine: Engine) -> None:
    prompts = [PROMPT, [7, 8, 9], [50] * 300]
    alone, mixed = ([Scripted(*range(10, 16)) for _ in prompts] for _ in range(2))
    for prompt, sampler in zip(prompts, alone, strict=True):
        finish(engine, engine.sequence(prompt, 6, sampler=sampler))
    live = [
        engine.sequence(prompt, 6, sampler=sampler)
        for prompt, sampler in zip(prompts, mixed, strict=True)
    ]
    while live:
        for sequence in live:
            engine.step(sequence)
        live = [sequence for sequence in live if not sequence.finish]
    for one, other in zip(alone, mixed, strict=True):
        assert len(one.seen) == 6
        assert all((a == b).all() for a, b in zip(one.seen, other.seen, strict=True))


@pytest.mark.parametrize("shared", [1, 20, CHUNK + 10])
def test_a_stored_beginning_changes_no_bit(tiny: Model, shared: int) -> None:
    prompt = [3 + i % 200 for i in range(shared + 17)]
    seen = []
    engine = Engine(tiny, threads=1)
    for _ in range(2):
        sampler = Scripted(10, 11, 12)
        finish(engine, engine.sequence(prompt, 3, shared=shared, sampler=sampler))
        seen.append(sampler.seen)
    assert all((a == b).all() for a, b in zip(*seen, strict=True))
    sampler = Scripted(10, 11, 12)
    finish(engine, engine.sequence(prompt, 3, sampler=sampler))
    np.testing.assert_allclose(sampler.seen, seen[0], rtol=1e-3, atol=1e-3)


def test_a_beginning_is_computed_once_and_the_least_recent_goes(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    forward, computed = engine._graph.forward, []

    def counting(tokens: list[int], *rest: object, **named: object) -> F32:
        computed.append(tuple(tokens))
        return forward(tokens, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(engine._graph, "forward", counting)

    def ask(first: int) -> bool:
        """Whether the beginning had to be computed."""
        computed.clear()
        engine.step(engine.sequence([first] * 8 + [9], 1, shared=8))
        return (first,) * 8 in computed

    assert [ask(first) for first in (10, 10, 11, 12, 13, 10, 14)] == [
        True, False, True, True, True, False, True,
    ]  # fmt: skip
    assert ask(11)
    assert not ask(10)


def test_a_long_prompt_is_read_in_steps_of_a_chunk(engine: Engine) -> None:
    sequence = engine.sequence([10] * (CHUNK + 5), 1)
    assert engine.step(sequence) is None
    assert sequence.cache.length == CHUNK
    assert engine.step(sequence) is not None


def test_a_live_sequence_takes_memory_for_its_own_length_only(engine: Engine) -> None:
    config = engine.model.config
    position = 2 * 4 * config.layers * config.kv_heads * config.head
    assert engine.sequence(PROMPT, 10).cache.bytes == (len(PROMPT) + 10) * position


def test_the_environment_sets_the_threads(tiny: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENGINE_THREADS", raising=False)
    assert threads_from_environment() == 1
    monkeypatch.setenv("ENGINE_THREADS", "2")
    assert Engine(tiny).threads == 2
    assert Engine(tiny, threads=1).threads == 1
    assert {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"} == {1}


@pytest.mark.parametrize("text", ["0", "-1", "two", "", "65", "²"])
def test_a_wrong_number_of_threads_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGINE_THREADS", text)
    with pytest.raises(BadRequest, match="ENGINE_THREADS"):
        threads_from_environment()
