"""The risk summary: ratios by stated rules, each with where it stands."""

from decimal import Decimal

import pytest

from apps.loader.risk import number, summary
from tests.unit.loader.readings import table


@pytest.mark.parametrize(
    ("text", "value"),
    [("1,234.50", "1234.5"), ("(12.00)", "-12"), ("-3", "-3"), ("12.34%", "0.1234"),
     ("１２％", "0.12"), ("—", None), ("12个月", None), ("3.9–6.1", None), ("", None)],
)  # fmt: skip
def test_numbers_of_cells(text: str, value: str | None) -> None:
    assert number(text) == (None if value is None else Decimal(value))


def test_ratios_are_of_the_newest_year_and_name_their_rows() -> None:
    sheet = table(["项目", "2025年", "2024年"], ["资产总计", "200.00", "100.00"],
                  ["负债合计", "190.00", "50.00"], page=7)  # fmt: skip
    (ratio,) = summary([sheet])["ratios"]
    assert (ratio["name"], ratio["value"], ratio["flag"]) == (
        "liabilities_to_assets",
        "0.9500",
        True,
    )
    assert [row["text"] for row in ratio["rows"]] == [
        "负债合计 190.00 50.00",
        "资产总计 200.00 100.00",
    ]
    assert {row["box"]["page"] for row in ratio["rows"]} == {7}


def test_english_rows_count_and_flags_follow_their_rules() -> None:
    sheet = table(
        ["Item", "2025"], ["Insurance revenue", "100.00"], ["Claims paid", "90.00"],
        ["Operating expenses", "40.00"], ["Net profit", "(5.00)"], ["Solvency ratio", "210.00%"],
    )  # fmt: skip
    found = {ratio["name"]: (ratio["value"], ratio["flag"]) for ratio in summary([sheet])["ratios"]}
    assert found == {
        "loss_ratio": ("0.9000", False),
        "expense_ratio": ("0.4000", True),
        "solvency_ratio": ("2.1000", False),
        "net_profit": ("-5.0000", True),
    }


def test_nothing_is_divided_by_zero() -> None:
    sheet = table([], ["Total assets", "0.00"], ["Total liabilities", "1.00"])
    assert summary([sheet]) == {}


def test_results_outside_of_their_reference_range_are_flagged() -> None:
    results = table(
        ["项目", "结果", "单位", "参考范围"],
        ["空腹血糖", "6.8", "mmol/L", "3.9–6.1"], ["血红蛋白", "130", "g/L", "115-150"],
        ["高密度脂蛋白", "0.9", "mmol/L", "1.0～2.2"],
    )  # fmt: skip
    assert [(one["label"], one["flag"]) for one in summary([results])["results"]] == [
        ("空腹血糖", "high"),
        ("高密度脂蛋白", "low"),
    ]


def test_numbers_beyond_measure_are_nobodys_figures() -> None:
    """A report may print anything; the run goes on."""
    huge = table(["Item", "2025"], ["Net profit", "9" * 40], ["Total liabilities", "9" * 20],
                 ["Total assets", "0." + "0" * 18 + "1"])  # fmt: skip
    (ratio,) = summary([huge])["ratios"]
    assert (ratio["name"], ratio["flag"]) == ("liabilities_to_assets", True)
