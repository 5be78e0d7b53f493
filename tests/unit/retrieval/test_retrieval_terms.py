"""Words, numbers and pairs of Chinese characters, and how far two texts share them."""

import pytest

from apps.retrieval.terms import shared, terms


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("?! — ,", []),
        ("Total assets: 1,234.50", ["total", "assets", "1,234.50"]),
        ("资产总计", ["资产", "产总", "总计"]),
        ("血", ["血"]),
        ("2025年HbA1c为6.8%", ["2025", "年", "hba", "1", "c", "为", "6.8"]),
        ("naïve Ärzte", ["naïve", "ärzte"]),
        ("资产,负债", ["资产", "负债"]),
        ("a_b", ["a", "b"]),
    ],
)
def test_a_text_is_cut_into_words_numbers_and_pairs(text: str, found: list[str]) -> None:
    assert terms(text) == found


def test_the_passage_that_shares_the_rare_word_is_first_and_has_one() -> None:
    passages = ["total assets 5", "total equity 6", "total liabilities 7", "nothing of it"]
    scores = shared("What are the total liabilities?", passages)
    assert scores[2] == 1.0
    assert 0 < scores[0] == pytest.approx(scores[1])
    assert scores[0] < 0.5
    assert scores[3] == 0.0


def test_chinese_is_compared_by_pairs() -> None:
    scores = shared("负债合计是多少", ["资产总计 1", "负债合计 2", "负债率 3"])
    assert scores.index(max(scores)) == 1
    assert scores[0] == 0.0


def test_a_number_is_one_word() -> None:
    assert shared("1,234", ["1,234.50", "1,234"]) == [0.0, 1.0]


@pytest.mark.parametrize("passages", [[], [""], ["", "?"], ["other words"]])
def test_nothing_shared_is_zero(passages: list[str]) -> None:
    assert shared("question", passages) == [0.0] * len(passages)
    assert shared("", passages) == [0.0] * len(passages)
