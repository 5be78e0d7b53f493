import numpy as np
import numpy.typing as npt
import pytest

from apps.engine.errors import BadLogits, BadRequest
from apps.engine.sampler import Sampler, Sampling

LOGITS = np.log(np.array([0.5, 0.3, 0.15, 0.05], np.float32))


def draws(count: int, logits: npt.ArrayLike = LOGITS, **how: object) -> list[int]:
    sampler = Sampler(Sampling(**how))  # type: ignore[arg-type]
    return [sampler.choose(np.asarray(logits, np.float32), 1) for _ in range(count)]


def test_temperature_zero_takes_the_most_likely_and_the_first_of_equals() -> None:
    assert draws(1, [1, 3, 2, 3]) == [1]


def test_the_same_seed_draws_the_same_tokens() -> None:
    first, second, other = (draws(60, temperature=1, seed=seed) for seed in (7, 7, 8))
    assert first == second != other


def test_a_draw_takes_one_number_whatever_the_filters_leave() -> None:
    """So the same seed draws from the same place of its stream at the same token."""
    numbers = Sampler(Sampling(seed=3))._random.random_raw(4).tolist()
    for how in ({}, {"top_k": 1}, {"top_p": 0.6}, {"min_p": 1.0}):
        sampler = Sampler(Sampling(temperature=1, seed=3, **how))  # type: ignore[arg-type]
        for _ in range(3):
            sampler.choose(LOGITS, 9)
        assert sampler._random.random_raw() == numbers[3]


def test_draws_follow_the_softmax() -> None:
    drawn = np.bincount(draws(6000, temperature=1, seed=1), minlength=4) / 6000
    np.testing.assert_allclose(drawn, [0.5, 0.3, 0.15, 0.05], atol=0.03)


def test_a_higher_temperature_flattens() -> None:
    expected = np.exp(LOGITS / 2) / np.exp(LOGITS / 2).sum()
    drawn = np.bincount(draws(6000, temperature=2, seed=1), minlength=4) / 6000
    np.testing.assert_allclose(drawn, expected, atol=0.03)


@pytest.mark.parametrize(
    ("how", "left"),
    [
        ({"top_k": 2}, {0, 1}),
        ({"top_k": 9}, {0, 1, 2, 3}),
        ({"top_p": 0.79}, {0, 1}),
        ({"top_p": 0.81}, {0, 1, 2}),
        ({"top_p": 1e-6}, {0}),
        ({"min_p": 0.2}, {0, 1, 2}),
        ({"min_p": 1}, {0}),
        ({"top_k": 3, "top_p": 0.9}, {0, 1, 2}),
        ({"top_k": 3, "min_p": 0.5}, {0, 1}),
        ({"logit_bias": {0: -100, 3: 100}}, {3}),
    ],
)
def test_a_filter_leaves_these_tokens(how: dict[str, object], left: set[int]) -> None:
    assert set(draws(400, temperature=1, seed=5, **how)) == left


@pytest.mark.parametrize("mass", [0.1, 0.5, 0.9, 0.999])
def test_the_nucleus_of_a_flat_distribution_is_that_part_of_all_tokens(mass: float) -> None:
    logits = np.linspace(0, 1e-3, 5000, dtype=np.float32)
    drawn = draws(300, logits, temperature=1, seed=2, top_p=mass)
    least = 5000 * (1 - mass)
    assert min(drawn) >= least - 5
    assert max(drawn) - min(drawn) > 5000 * mass * 0.9


def test_what_a_filter_leaves_keeps_its_proportions() -> None:
    drawn = np.bincount(draws(6000, temperature=1, seed=1, top_k=2), minlength=2) / 6000
    np.testing.assert_allclose(drawn, [0.5 / 0.8, 0.3 / 0.8], atol=0.03)


def test_a_bias_is_added_before_the_greedy_choice_and_leaves_the_logits_alone() -> None:
    logits = np.array([1, 2, 3], np.float32)
    assert draws(1, logits, logit_bias={0: 2.5}) == [0]
    assert logits.tolist() == [1, 2, 3]


def test_a_repetition_is_penalised_in_prompt_and_answer_on_both_sides_of_zero() -> None:
    sampler = Sampler(Sampling(repetition_penalty=2))
    sampler.begin([0], 4)
    logits = np.array([4, 3, 2.5, -1], np.float32)
    assert [sampler.choose(logits, 1) for _ in range(3)] == [1, 2, 0]
    below = Sampler(Sampling(repetition_penalty=2))
    below.begin([0], 2)
    assert below.choose(np.array([-1, -1.5], np.float32), 1) == 1


def test_an_extreme_logit_is_no_overflow() -> None:
    assert draws(5, [-3e38, 3e38, 0], temperature=0.01) == [1] * 5
    assert draws(5, [-3e38, 3e38, 0], temperature=10) == [1] * 5


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_logits_that_are_no_numbers_are_an_error(wrong: float) -> None:
    with pytest.raises(BadLogits):
        draws(1, [1, wrong, 2])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1), ("temperature", 11), ("temperature", float("nan")),
        ("top_k", -1), ("top_p", 0), ("top_p", 1.1), ("min_p", -0.1), ("min_p", 2),
        ("repetition_penalty", 0), ("seed", -1), ("seed", 1 << 64),
    ],
)  # fmt: skip
def test_an_impossible_value_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(BadRequest, match=f"{name} is .*; choose"):
        Sampling(**{name: value})  # type: ignore[arg-type]


def test_an_impossible_bias_is_refused() -> None:
    with pytest.raises(BadRequest, match="logit_bias names token -1"):
        Sampling(logit_bias={-1: 1})
    with pytest.raises(BadRequest, match="logit_bias of token 3 is inf"):
        Sampling(logit_bias={3: float("inf")})
    with pytest.raises(BadRequest, match="token 9; this model's last is 3"):
        Sampler(Sampling(logit_bias={3: 1, 9: 1})).begin([0], 4)


@pytest.mark.parametrize("temperature", [1e-37, 1e-39, 1e-46, 1e-300, 5e-324])
def test_the_coldest_draw_takes_the_most_likely(temperature: float) -> None:
    logits = [1, 2, 2 - 1e-6, -3]
    assert draws(3, logits, temperature=temperature) == [1] * 3
    assert draws(3, logits, temperature=temperature, top_p=0.5, top_k=2, min_p=0.5) == [1] * 3
