"""The judge of `make bench-logits` itself."""

from math import exp, log

import numpy as np
import pytest

from tests.bench.judgement import Judgement, mcnemar, surprise


def test_mcnemar_counts_only_the_positions_where_one_alone_is_right() -> None:
    ours = (True,) * 10 + (False,) * 2 + (True,) * 80 + (False,) * 8
    theirs = (False,) * 10 + (True,) * 2 + (True,) * 80 + (False,) * 8
    # 2 x (1 + 12 + 66) / 2^12
    assert mcnemar(ours, theirs) == pytest.approx(2 * 79 / 4096)
    assert mcnemar(ours, theirs) == mcnemar(theirs, ours)


@pytest.mark.parametrize("same", [(), (True, False), (False,) * 5])
def test_equal_engines_do_not_differ(same: tuple[bool, ...]) -> None:
    assert mcnemar(same, same) == 1


def test_surprise_of_even_logits_is_the_logarithm_of_their_number() -> None:
    logits = np.full((3, 50), 1e4, np.float32)
    np.testing.assert_allclose(surprise(logits, [0, 7, 49]), log(50))


def test_surprise_follows_the_token_that_came() -> None:
    logits = np.array([[0.0, log(3)], [log(3), 0.0]])
    np.testing.assert_allclose(surprise(logits, [1, 1]), [log(4 / 3), log(4)])


def test_a_judgement_sums_up_texts() -> None:
    truth = np.array([[0.0, 1.0, 2.0], [5.0, 1.0, 2.0]])
    off = np.array([[3.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    judgement = Judgement()
    judgement.see(truth, truth + off, [0, 2])
    judgement.see(truth, truth, [0, 0])
    assert judgement.rms == pytest.approx((9 / 12) ** 0.5)
    assert judgement.agreed == (False, True, True, True)
    assert judgement.argmax == 0.75
    first = log(exp(3) + exp(1) + exp(2)) - 2
    second = log(exp(0) + exp(1) + exp(2)) - 0
    assert judgement.perplexity == pytest.approx(exp((first + second) / 2))
