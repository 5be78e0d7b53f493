"""Facts as the rows of a reply: name, label in the customer's language, value, unit. Pure."""

from apps.retrieval.records import Facts, InsuranceAccount, LabReport

_LABELS = {
    "plan": ("保险计划", "Plan"),
    "balance": ("可用余额", "Balance"),
    "used_this_year": ("本年度已使用", "Used this year"),
    "annual_limit": ("年度限额", "Annual limit"),
    "deductible": ("免赔额", "Deductible"),
    "deductible_left": ("剩余免赔额", "Deductible left"),
    "as_of": ("截至日期", "As of"),
    "report_date": ("报告日期", "Report date"),
    "laboratory": ("检验机构", "Laboratory"),
}


def rows(facts: Facts, language: str) -> list[dict[str, str]]:
    """Return the facts' rows: `name`, `label`, `value`, `unit` (empty if none), all text.

    A measured value also has `reference` (its range) and `flag` (`low`, `normal`, `high`).
    Amounts keep their two decimals, dates are ISO 8601.
    """
    result: list[dict[str, str]] = []
    if facts.account is not None:
        result += _account_rows(facts.account, language)
    if facts.report is not None:
        result += _report_rows(facts.report, language)
    return result


def _account_rows(account: InsuranceAccount, language: str) -> list[dict[str, str]]:
    amounts = ("balance", "used_this_year", "annual_limit", "deductible", "deductible_left")
    return [
        _row("plan", language, account.plan),
        *(_row(name, language, str(getattr(account, name)), account.currency) for name in amounts),
        _row("as_of", language, account.as_of.isoformat()),
    ]


def _report_rows(report: LabReport, language: str) -> list[dict[str, str]]:
    measured = [
        {
            "name": result.analyte,
            "label": result.label(language),
            "value": str(result.value),
            "unit": result.unit,
            "reference": result.reference,
            "flag": result.flag,
        }
        for result in report.results
    ]
    return [
        _row("report_date", language, report.reported_on.isoformat()),
        _row("laboratory", language, report.laboratory),
        *measured,
    ]


def _row(name: str, language: str, value: str, unit: str = "") -> dict[str, str]:
    label = _LABELS[name][0 if language == "zh" else 1]
    return {"name": name, "label": label, "value": value, "unit": unit}
