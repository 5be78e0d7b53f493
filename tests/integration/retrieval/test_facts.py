"""Facts are typed, complete, and the asserted customer's own; nothing on record is an answer."""

import time
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from apps.retrieval.assertion import sign
from apps.retrieval.facts import NotAllowed, facts
from apps.retrieval.pool import Pool, TryLater
from apps.retrieval.records import Customer, Facts, InsuranceAccount


@pytest.fixture
def pool(postgres: Any) -> Iterator[Pool]:
    with Pool(postgres.url("assistant"), read_only=True) as pool:
        yield pool


def test_a_balance_question_reads_the_account(postgres: Any, pool: Pool) -> None:
    assert facts(pool, postgres.assertion("s-zh"), "insurance_balance") == Facts(
        Customer("s-zh", "合成客户", "zh"),
        account=InsuranceAccount(
            policy="S-ZH-01",
            plan="标准医疗保险",
            currency="CNY",
            balance=Decimal("8250.00"),
            annual_limit=Decimal("20000.00"),
            used_this_year=Decimal("11750.00"),
            deductible=Decimal("1500.00"),
            deductible_left=Decimal("300.00"),
            as_of=date(2026, 11, 1),
        ),
    )


def test_a_lab_question_reads_the_newest_report(postgres: Any, pool: Pool) -> None:
    report = facts(pool, postgres.assertion("c-1001"), "lab_report").report
    assert report is not None
    assert report.reported_on == date(2026, 9, 18)
    assert report.laboratory == "市第一医院检验科"
    found = {r.analyte: (str(r.value), r.reference, r.flag) for r in report.results}
    assert list(found)[:2] == ["glucose", "hba1c"]
    assert found["glucose"] == ("6.4", "3.9–6.1", "high")
    assert found["total_cholesterol"] == ("5.6", "≤ 5.2", "high")
    assert found["hdl"] == ("1.3", "≥ 1.0", "normal")
    assert found["haemoglobin"] == ("112", "115–150", "low")


@pytest.mark.parametrize("customer", ["s-zh", "s-en"])
def test_a_synthetic_report_has_values_in_and_out_of_range(
    postgres: Any, pool: Pool, customer: str
) -> None:
    report = facts(pool, postgres.assertion(customer), "lab_report").report
    assert report is not None
    flags = {result.analyte: result.flag for result in report.results}
    assert len(flags) == 8
    assert {name for name, flag in flags.items() if flag == "high"} == {"glucose", "ldl"}
    assert {name for name, flag in flags.items() if flag == "low"} == {"hdl"}


@pytest.mark.parametrize("intent", ["complaint", "document_question", "other"])
def test_other_intents_read_the_customer_alone(postgres: Any, pool: Pool, intent: str) -> None:
    expected = Facts(Customer("c-1002", "Emma Clarke", "en"))
    assert facts(pool, postgres.assertion("c-1002"), intent) == expected


@pytest.mark.parametrize("intent", ["insurance_balance", "lab_report"])
def test_nothing_on_record_is_a_result(postgres: Any, pool: Pool, intent: str) -> None:
    expected = Facts(Customer("c-1005", "陈静", "zh"))
    assert facts(pool, postgres.assertion("c-1005"), intent) == expected


def test_an_assertion_that_is_not_valid_now_is_refused(postgres: Any, pool: Pool) -> None:
    now = int(time.time())
    for text in (
        "",
        "v1.c-1001.s.1.00",
        sign(bytes(32), "c-1001", "s", now + 60),
        sign(postgres.assertion_key, "c-1001", "s", now - 1),
        sign(postgres.assertion_key, "nobody", "s", now + 60),
    ):
        with pytest.raises(NotAllowed):
            facts(pool, text, "insurance_balance")


def test_one_connection_serves_customers_in_turn_without_mixing_them(postgres: Any) -> None:
    with Pool(postgres.url("assistant"), size=1, read_only=True) as pool:
        for customer in ("c-1001", "c-1002", "c-1003", "c-1001"):
            found = facts(pool, postgres.assertion(customer), "insurance_balance")
            assert found.customer.id == customer
            assert found.account is not None
            assert found.account.policy == f"P-{customer[2:]}"
        with pytest.raises(NotAllowed):
            facts(pool, "", "insurance_balance")


def test_a_lost_database_is_try_later() -> None:
    url = "postgresql://assistant:x@127.0.0.1:1/switchyard"
    with Pool(url, deadline_s=0.3) as pool, pytest.raises(TryLater):
        facts(pool, "", "insurance_balance")
