"""A slip in a term is mended; another word is not."""

import pytest

from apps.retrieval.glossary import glossary
from apps.retrieval.spelling import _SOUNDS, MAX_CHARS, mended


@pytest.mark.parametrize(
    ("text", "language", "meant"),
    [
        ("净利闰是多少？", "zh", "净利润是多少？"),
        ("安和的资产总记", "zh", "安和的资产总计"),
        ("免陪额和等代期", "zh", "免赔额和等待期"),
        ("What are the totl assets?", "en", "What are the total assets?"),
        ("Net proift of Alder", "en", "Net profit of Alder"),
        ("the solvncy ratio", "en", "the solvency ratio"),
        ("insurance contract liabilitiess", "en", "insurance contract liabilities"),
    ],
)
def test_a_slip_is_mended(text: str, language: str, meant: str) -> None:
    assert mended(text, language) == meant


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("毛利润是多少", "zh"),
        ("总资本是多少", "zh"),
        ("净利润是多少", "zh"),
        ("工作证明怎么开", "zh"),
        ("投保书怎么填", "zh"),
        ("gross profit", "en"),
        ("How do you assess claims?", "en"),
        ("Net profit of Bet", "en"),
        ("", "zh"),
        ("", "en"),
    ],
)
def test_another_word_is_left_as_it_is(text: str, language: str) -> None:
    assert mended(text, language) == text


def test_every_term_is_left_as_it_is() -> None:
    for language in ("zh", "en"):
        for term in glossary(language).terms():
            assert mended(term, language) == term


def test_a_capital_that_is_longer_as_a_small_letter_moves_nothing() -> None:
    assert mended("İİİ what are the Totl assets?", "en") == "İİİ what are the total assets?"


def test_a_long_text_is_not_compared() -> None:
    text = "净利闰" + "。" * MAX_CHARS
    assert mended(text, "zh") == text


def test_a_character_sounds_in_one_way() -> None:
    characters = _SOUNDS.replace(" ", "")
    assert len(set(characters)) == len(characters)
