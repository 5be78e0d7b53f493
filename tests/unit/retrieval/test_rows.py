"""A reply's rows carry each fact as text, in the customer's language."""

from datetime import date
from decimal import Decimal

import pytest

from apps.retrieval.records import Customer, Facts, InsuranceAccount, LabReport, LabResult
from apps.retrieval.rows import rows

WHO = Customer("c", "n", "zh")
ACCOUNT = InsuranceAccount(
    policy="P-1",
    plan="计划",
    currency="CNY",
    balance=Decimal("8250.00"),
    annual_limit=Decimal("20000.00"),
    used_this_year=Decimal("11750.00"),
    deductible=Decimal("1500.00"),
    deductible_left=Decimal("0.00"),
    as_of=date(2026, 11, 1),
)


def result(low: str | None, high: str | None) -> LabResult:
    first, last = (None if bound is None else Decimal(bound) for bound in (low, high))
    return LabResult("ldl", "低密度", "LDL", "mmol/L", Decimal("3.90"), first, last, "high")


def test_an_account_keeps_its_cents_and_says_its_currency() -> None:
    found = {row["name"]: row for row in rows(Facts(WHO, account=ACCOUNT), "zh")}
    assert found["balance"] == {
        "name": "balance",
        "label": "可用余额",
        "value": "8250.00",
        "unit": "CNY",
    }
    assert found["deductible_left"]["value"] == "0.00"
    assert found["as_of"] == {
        "name": "as_of",
        "label": "截至日期",
        "value": "2026-11-01",
        "unit": "",
    }


def test_a_measured_value_has_its_range_and_its_flag() -> None:
    report = LabReport("Lab", date(2026, 10, 20), (result(None, "3.4"),))
    found = rows(Facts(WHO, report=report), "en")
    assert [row["value"] for row in found[:2]] == ["2026-10-20", "Lab"]
    assert found[2] == {
        "name": "ldl",
        "label": "LDL",
        "value": "3.90",
        "unit": "mmol/L",
        "reference": "≤ 3.4",
        "flag": "high",
    }


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [("3.9", "6.1", "3.9–6.1"), (None, "5.2", "≤ 5.2"), ("1.0", None, "≥ 1.0"), (None, None, "")],
)
def test_a_range_may_be_open_at_either_end(low: str | None, high: str | None, text: str) -> None:
    assert result(low, high).reference == text


def test_nothing_on_record_is_no_row() -> None:
    assert rows(Facts(WHO), "zh") == []
