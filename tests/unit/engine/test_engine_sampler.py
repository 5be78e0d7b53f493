import numpy as np
import pytest

from apps.engine.errors import BadLogits, BadRequest
from apps.engine.sampler import Sampler

LOGITS = np.log(np.array([0.5, 0.3, 0.2], np.float32))


def test_temperature_zero_takes_the_most_likely_and_the_first_of_equals() -> None:
    assert Sampler().choose(np.array([1, 3, 2, 3], np.float32)) == 1


def test_the_same_seed_draws_the_same_tokens() -> None:
    first, second, other = Sampler(1.0, 7), Sampler(1.0, 7), Sampler(1.0, 8)
    drawn = [[sampler.choose(LOGITS) for _ in range(60)] for sampler in (first, second, other)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_draws_follow_the_softmax() -> None:
    sampler = Sampler(1.0, 1)
    drawn = np.bincount([sampler.choose(LOGITS) for _ in range(6000)], minlength=3) / 6000
    np.testing.assert_allclose(drawn, [0.5, 0.3, 0.2], atol=0.03)


def test_a_low_temperature_is_nearly_greedy() -> None:
    sampler = Sampler(0.02, 1)
    assert {sampler.choose(LOGITS) for _ in range(200)} == {0}


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_logits_that_are_no_numbers_are_an_error(wrong: float) -> None:
    with pytest.raises(BadLogits):
        Sampler().choose(np.array([1, wrong, 2], np.float32))


@pytest.mark.parametrize("temperature", [-0.1, 11, float("nan")])
def test_an_impossible_temperature_is_refused(temperature: float) -> None:
    with pytest.raises(BadRequest, match="temperature"):
        Sampler(temperature)
