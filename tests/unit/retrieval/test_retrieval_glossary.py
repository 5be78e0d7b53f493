"""A question gets its terms in the other language beside it."""

import pytest

from apps.retrieval.glossary import MAX_TERMS, TERMS, bilingual, parse


@pytest.mark.parametrize(
    ("text", "language", "found"),
    [
        ("安和健康保险的净利润是多少？", "zh", "安和健康保险的净利润是多少？ net profit"),
        ("What was the net profit of 安和?", "en", "What was the net profit of 安和? 净利润"),
        ("What is my LDL?", "en", "What is my LDL? 低密度脂蛋白胆固醇"),
        ("你好", "zh", "你好"),
        ("", "en", ""),
    ],
)
def test_terms_are_translated_and_the_question_stays(text: str, language: str, found: str) -> None:
    assert bilingual(text, language) == found


def test_the_longer_term_wins() -> None:
    assert bilingual("低密度脂蛋白胆固醇", "zh").endswith(" LDL cholesterol")
    assert bilingual("total cholesterol", "en") == "total cholesterol 总胆固醇"


def test_english_terms_are_whole_words() -> None:
    assert bilingual("payment assetsome", "en") == "payment assetsome"


def test_a_term_is_translated_once_and_not_too_many_are() -> None:
    assert bilingual("保费保费", "zh") == "保费保费 premium"
    every = "，".join(zh[0] for zh, _ in parse(TERMS.read_text("utf-8").splitlines()))
    words = bilingual(every, "zh").removeprefix(every)
    assert 0 < len(words) < MAX_TERMS * 40


def test_no_term_has_two_meanings() -> None:
    entries = parse(TERMS.read_text("utf-8").splitlines())
    for side in (0, 1):
        terms = [term.lower() for entry in entries for term in entry[side]]
        assert sorted(set(terms)) == sorted(terms)


@pytest.mark.parametrize("line", ["净利润", "净利润\t", "净利润|\tnet profit", "a\tb\tc"])
def test_a_bad_line_is_named(line: str) -> None:
    with pytest.raises(ValueError, match=r"glossary\.tsv:2: want"):
        parse(["# head", line])
