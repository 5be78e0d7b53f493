"""A customer's records as facts of a reply: names for programs, labels and values for people."""

from decimal import Decimal

from apps.pipeline.reply import Fact
from apps.retrieval.records import Facts, InsuranceAccount, LabReport

_LABELS = {
    "balance": ("余额", "balance"),
    "used_this_year": ("今年已用", "used this year"),
    "annual_limit": ("年度限额", "annual limit"),
    "deductible": ("免赔额", "deductible"),
    "deductible_left": ("免赔额剩余", "deductible left"),
    "as_of": ("截至日期", "as of"),
    "plan": ("保险计划", "plan"),
    "reported_on": ("报告日期", "report date"),
    "laboratory": ("检验机构", "laboratory"),
}


def facts_of(records: Facts, language: str) -> list[Fact]:
    """Every value that a reply may mention; empty when there is no record."""
    if records.account is not None:
        return _account(records.account, language)
    if records.report is not None:
        return _report(records.report, language)
    return []


def _account(account: InsuranceAccount, language: str) -> list[Fact]:
    amounts = ("balance", "used_this_year", "annual_limit", "deductible", "deductible_left")
    return [
        *(
            _fact(name, _plain(getattr(account, name)), language, account.currency)
            for name in amounts
        ),
        _fact("as_of", account.as_of.isoformat(), language),
        _fact("plan", account.plan, language),
    ]


def _report(report: LabReport, language: str) -> list[Fact]:
    results = [
        Fact(
            name=result.analyte,
            label=result.label(language),
            value=_plain(result.value),
            unit=result.unit,
            reference=result.reference,
            flag=result.flag,
        )
        for result in report.results
    ]
    return [
        *results,
        _fact("reported_on", report.reported_on.isoformat(), language),
        _fact("laboratory", report.laboratory, language),
    ]


def _fact(name: str, value: str, language: str, unit: str = "") -> Fact:
    return Fact(name, _LABELS[name][0 if language == "zh" else 1], value, unit)


def _plain(number: Decimal) -> str:
    return f"{number:f}"
