"""A report's risk summary: ratios and flags from its own rows, each with where it stands. Pure.

Financial rules (the first value column is the newest year):
  liabilities_to_assets  total liabilities / total assets, flagged above 0.90
  loss_ratio             claims paid / insurance revenue, flagged above 1.00
  expense_ratio          operating expenses / insurance revenue, flagged above 0.30
  solvency_ratio         as stated, flagged below 1.50 (1.00 is the legal minimum)
  equity, net_profit     as stated, flagged below 0
Medical rule: a row that has a value and a reference range is flagged outside of it.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from apps.loader.blocks import Block, Table, TableRow
from apps.loader.chunk import Box
from apps.loader.normal import searchable

_LABELS = {
    "assets": r"资产总[计额]|total assets",
    "liabilities": r"负债(?:合计|总[计额])|total liabilities",
    "equity": r"(?:所有者|股东)权益(?:合计|总[计额])|total (?:shareholders['’] )?equity",
    "revenue": r"保险服务收入|insurance revenue",
    "claims": r"赔付支出|claims paid",
    "expenses": r"业务及管理费|operating expenses",
    "solvency": r"综合偿付能力充足率|solvency ratio",
    "profit": r"净利润|net profit",
}
LONGEST = 24
"""Characters of a number: more digits are none that a report has, and more than are exact."""
_NUMBER = re.compile(r"[(-]?\s*\d[\d,]*(?:\.\d+)?\s*\)?\s*%?")
_RANGE = re.compile(r"(\d+(?:\.\d+)?)\s*[-–—~～至]\s*(\d+(?:\.\d+)?)")
_END = re.compile(r"([≤<≥>])=?\s*(\d+(?:\.\d+)?)")
_RESULT = re.compile(r"结果|检测值|result|value", re.IGNORECASE)
_REFERENCE = re.compile(r"参考|reference", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Found:
    """A number of the report and the row it stands in."""

    value: Decimal
    text: str
    box: Box


def summary(blocks: Iterable[Block]) -> dict[str, Any]:
    """`{"ratios": [{name, value, flag, rows: [{text, box}]}], "results": […]}`, for jsonb."""
    tables = [block for block in blocks if isinstance(block, Table)]
    found: dict[str, Found] = {}
    results: list[dict[str, Any]] = []
    for table in tables:
        for row in table.rows:
            _note(found, row)
            if outside := _outside(table, row):
                results.append(outside)
    ratios = [ratio for rule in _RULES if (ratio := rule(found))]
    return {key: value for key, value in (("ratios", ratios), ("results", results)) if value}


def number(text: str) -> Decimal | None:
    """The number a cell holds, in brackets negative, a percentage as a part of 1."""
    plain = searchable(text).rstrip(" ↑↓*")
    if len(plain) > LONGEST or not _NUMBER.fullmatch(plain):
        return None
    negative = plain.startswith(("(", "-"))
    digits = re.sub(r"[^\d.]", "", plain)
    try:
        value = Decimal(digits) * (-1 if negative else 1)
    except InvalidOperation:
        return None
    return value / 100 if plain.rstrip(" )").endswith("%") else value


def _note(found: dict[str, Found], row: TableRow) -> None:
    label = searchable(row.cells[0]).lower()
    for name, form in _LABELS.items():
        if name not in found and re.fullmatch(form, label):
            values = (number(cell) for cell in row.cells[1:])
            value = next((value for value in values if value is not None), None)
            if value is not None:
                found[name] = Found(value, " ".join(row.cells), row.boxes[0])


def _ratio(
    name: str, upper: str, lower: str, flagged: Callable[[Decimal], bool]
) -> Callable[[dict[str, Found]], dict[str, Any] | None]:
    def rule(found: dict[str, Found]) -> dict[str, Any] | None:
        if upper not in found or lower not in found or not found[lower].value:
            return None
        value = found[upper].value / found[lower].value
        return _stated(name, value, flagged(value), (found[upper], found[lower]))

    return rule


def _value(
    name: str, key: str, flagged: Callable[[Decimal], bool]
) -> Callable[[dict[str, Found]], dict[str, Any] | None]:
    def rule(found: dict[str, Found]) -> dict[str, Any] | None:
        if key not in found:
            return None
        value = found[key].value
        return _stated(name, value, flagged(value), (found[key],))

    return rule


def _stated(name: str, value: Decimal, flag: bool, rows: tuple[Found, ...]) -> dict[str, Any]:
    sources = [{"text": row.text, "box": asdict(row.box)} for row in rows]
    return {"name": name, "value": f"{value:.4f}", "flag": flag, "rows": sources}


_RULES = (
    _ratio("liabilities_to_assets", "liabilities", "assets", lambda value: value > Decimal("0.9")),
    _ratio("loss_ratio", "claims", "revenue", lambda value: value > 1),
    _ratio("expense_ratio", "expenses", "revenue", lambda value: value > Decimal("0.3")),
    _value("solvency_ratio", "solvency", lambda value: value < Decimal("1.5")),
    _value("equity", "equity", lambda value: value < 0),
    _value("net_profit", "profit", lambda value: value < 0),
)


def _outside(table: Table, row: TableRow) -> dict[str, Any] | None:
    """The row if its result lies outside the reference range in the same row."""
    result = _column(table, _RESULT)
    reference = _column(table, _REFERENCE)
    if result is None or reference is None:
        return None
    value = number(row.cells[result])
    if value is None:
        return None
    low, high = _bounds(searchable(row.cells[reference]))
    if low is not None and value < low:
        flag = "low"
    elif high is not None and value > high:
        flag = "high"
    else:
        return None
    text = " ".join(row.cells)
    return {"label": row.cells[0], "flag": flag, "text": text, "box": asdict(row.boxes[0])}


def _bounds(text: str) -> tuple[Decimal | None, Decimal | None]:
    """The reference range, open at an end that is not stated."""
    if found := _RANGE.search(text):
        return Decimal(found[1]), Decimal(found[2])
    if found := _END.search(text):
        bound = Decimal(found[2])
        return (bound, None) if found[1] in "≥>" else (None, bound)
    return None, None


def _column(table: Table, form: re.Pattern[str]) -> int | None:
    return next((at for at, name in enumerate(table.header) if form.search(name)), None)
