"""Numbers in the model's words are supported by something shown, or they are listed."""

import pytest

from apps.gateway.numbers import MAX_LISTED, unsupported


@pytest.mark.parametrize(
    ("words", "sources", "listed"),
    [
        ("You have 8,250 CNY left.", ["balance 8250.00"], []),
        ("You have 8,251 CNY left.", ["balance 8250.00"], ["8,251"]),
        ("About 3.90 and 6.1 mmol/L", ["3.9–6.1"], []),
        ("On 2026-11-01 and in 2025", ["as of 2026-11-01"], ["2025"]),
        ("余额为８２５０元", ["8250.00"], []),
        ("7 of 7, or 7.0", [], ["7", "7.0"]),
        ("1,23 is two numbers", [], ["1", "23"]),
        ("no number", ["1"], []),
        ("", [], []),
        ("١٢", ["12"], []),
    ],
)
def test_unsupported_numbers_are_listed_once_as_written(
    words: str, sources: list[str], listed: list[str]
) -> None:
    assert unsupported(words, sources) == listed


def test_the_list_is_bounded_and_long_digit_runs_are_cheap() -> None:
    assert len(unsupported(" ".join(map(str, range(1000))), [])) == MAX_LISTED
    assert unsupported("9" * 20_000, []) == ["9" * 20_000]
