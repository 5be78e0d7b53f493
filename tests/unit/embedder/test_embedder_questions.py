"""The questions that a language's middle is taken from."""

from apps.embedder.questions import questions


def test_both_languages_have_as_many_questions_and_none_twice() -> None:
    found = questions()
    assert {language: len(texts) for language, texts in found.items()} == {"zh": 75, "en": 75}
    assert all(len(set(texts)) == len(texts) for texts in found.values())
    assert all(text.strip() for texts in found.values() for text in texts)
