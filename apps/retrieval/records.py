"""What is known of a customer: typed, as read from PostgreSQL."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Customer:
    """Who asks; `language` is `zh` or `en`."""

    id: str
    name: str
    language: str


@dataclass(frozen=True, slots=True)
class InsuranceAccount:
    """A customer's medical insurance this year; amounts in `currency` (ISO 4217)."""

    policy: str
    plan: str
    currency: str
    balance: Decimal
    annual_limit: Decimal
    used_this_year: Decimal
    deductible: Decimal
    deductible_left: Decimal
    as_of: date


@dataclass(frozen=True, slots=True)
class LabResult:
    """One measured value, its reference range (an end may be open) and `flag`:
    `low`, `normal` or `high`."""

    analyte: str
    label_zh: str
    label_en: str
    unit: str
    value: Decimal
    low: Decimal | None
    high: Decimal | None
    flag: str

    def label(self, language: str) -> str:
        """The analyte's name in `language` (`zh` or `en`)."""
        return self.label_zh if language == "zh" else self.label_en

    @property
    def reference(self) -> str:
        """The reference range as text: `3.9–6.1`, `≤ 5.2`, `≥ 1.0`, or empty if open."""
        if self.low is not None and self.high is not None:
            return f"{self.low:f}–{self.high:f}"
        if self.high is not None:
            return f"≤ {self.high:f}"
        return f"≥ {self.low:f}" if self.low is not None else ""


@dataclass(frozen=True, slots=True)
class LabReport:
    """A customer's newest report; results in the laboratory's order, never empty."""

    laboratory: str
    reported_on: date
    results: tuple[LabResult, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """What one question needs; None where nothing is on record or nothing was asked for."""

    customer: Customer
    account: InsuranceAccount | None = None
    report: LabReport | None = None
