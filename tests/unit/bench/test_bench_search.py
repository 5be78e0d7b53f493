"""What the retrieval benches call true: who passes a filter, who is nearest, what recall is."""

import numpy as np
import pytest

from tests.bench.ask import mrr, recall5
from tests.bench.search.corpus import FILTERS, make, recall


def test_the_filters_let_through_what_their_names_say_and_no_foreign_row() -> None:
    corpus = make(100_000, 1)
    for name, wanted in FILTERS.items():
        share = float(corpus.passes(wanted).mean()) * 100
        assert share == pytest.approx(float(name), rel=0.15)
        assert not (corpus.passes(wanted) & corpus.foreign).any()
    assert corpus.foreign.mean() == pytest.approx(0.02)


def test_the_nearest_rows_are_the_nearest_that_pass() -> None:
    corpus = make(2000, 3)
    wanted = FILTERS["5"]
    truth = corpus.truth(wanted, corpus.questions)
    mask = corpus.passes(wanted)
    assert truth.shape == (3, 5)
    assert mask[truth].all()
    for question, rows in zip(corpus.questions, truth, strict=True):
        scores = corpus.vectors @ question
        assert scores[rows].min() >= np.sort(scores[mask])[-5]


def test_the_same_numbers_give_the_same_corpus() -> None:
    assert np.array_equal(make(500, 2).vectors, make(500, 2).vectors)


def test_recall_counts_what_was_found_of_the_nearest() -> None:
    truth = np.array([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]])
    assert recall([[5, 4, 3, 2, 1], [6, 7, 8, 9, 10]], truth) == 1.0
    assert recall([[1, 2, 99], []], truth) == 0.2


def test_a_question_counts_by_the_rank_of_its_answer() -> None:
    assert recall5([1, 5, 6, 0]) == 0.5
    assert mrr([1, 2, 0, 4]) == pytest.approx((1 + 0.5 + 0.25) / 4)
