"""A laboratory result says its range as people write it, and its name in their language."""

from decimal import Decimal

import pytest

from apps.retrieval.records import LabResult


def result(low: str | None, high: str | None) -> LabResult:
    first, last = (None if bound is None else Decimal(bound) for bound in (low, high))
    return LabResult("ldl", "低密度", "LDL", "mmol/L", Decimal("3.90"), first, last, "high")


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        ("3.9", "6.1", "3.9–6.1"),
        (None, "5.20", "≤ 5.20"),
        ("1.0", None, "≥ 1.0"),
        ("0", "1E+2", "0–100"),
        (None, None, ""),
    ],
)
def test_a_range_may_be_open_at_either_end(low: str | None, high: str | None, text: str) -> None:
    assert result(low, high).reference == text


def test_the_label_is_in_the_readers_language() -> None:
    assert [result(None, None).label(language) for language in ("zh", "en")] == ["低密度", "LDL"]
