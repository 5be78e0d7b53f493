"""What customers write becomes safe text, and its language is told by its script and its words."""

import pytest

from apps.pipeline.text import MAX_CHARS, language_of, normalise, read_query


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("我的余额", "zh"),
        ("my balance", "en"),
        ("帮我查 balance", "zh"),
        ("Does 王芳 have a report?", "en"),
        ("How many branches does 北辰健康保险 have?", "en"),
        ("What is the total equity of 安和 in 2025?", "en"),
        ("My policy says 等待期, what does it mean?", "en"),
        ("Alder Health Insurance plc有多少员工？", "zh"),
        ("what is 免赔额的意思", "zh"),
        ("安和健康保险 net profit", "zh"),
        ("Beacon Cobalt Alder 年报", "en"),
        ("12345", "en"),
        ("", "en"),
        ("𠀀", "zh"),
        ("Ünïcödé", "en"),
    ],
)
def test_the_little_words_make_the_language_and_then_what_there_is_more_of(
    text: str, language: str
) -> None:
    assert language_of(text) == language


def test_compatibility_forms_are_folded_for_the_models_only() -> None:
    query = read_query("  My  BALANCE①\n now ".encode())
    assert query.text == "my balance1 now"
    assert query.written == "My  BALANCE①\n now"


def test_control_and_direction_characters_are_removed() -> None:
    query = read_query("a\0b\u202ec\x1b[31md\u200b".encode())
    assert query.written == "abc[31md"


def test_bytes_that_are_no_text_are_replaced_not_fatal() -> None:
    query = read_query(b"\xed\xa0\x80balance\xff")
    assert query.problem == ""
    assert "balance" in query.text


@pytest.mark.parametrize("raw", [b"", b"   ", b"\0\0", "?!…".encode(), "😀".encode()])
def test_a_query_without_a_word_is_empty(raw: bytes) -> None:
    query = read_query(raw)
    assert (query.problem, query.text, query.written) == ("empty", "", "")


@pytest.mark.parametrize("character", ["a", "余", "😀", "\ufdfa"])
def test_length_is_counted_in_characters(character: str) -> None:
    whole = "x" + character * (MAX_CHARS - 1)
    assert read_query(whole.encode()).problem == ""
    assert read_query((whole + character).encode()).problem == "too long"


def test_a_too_long_query_keeps_its_language_and_nothing_else() -> None:
    query = read_query(("余" * 100_000).encode())
    assert (query.problem, query.language, query.text) == ("too long", "zh", "")


def test_normalising_twice_changes_nothing() -> None:
    for text in ("Ａ①ﷺ", "ẞtraße", "İ", "余額 Ⅷ", "\u3000x\u3000"):
        once = normalise(text)
        assert normalise(once) == once
