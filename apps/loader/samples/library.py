"""All sample reports: those written down in `texts/` and the invented insurers'."""

from pathlib import Path

from apps.loader.samples import financial
from apps.loader.samples.report import Report, parse

TEXTS = Path(__file__).parent / "texts"


def library() -> list[Report]:
    """Every report, in the order of its name; the same at each call."""
    written = [parse(path.read_text("utf-8"), path.name) for path in TEXTS.glob("*.txt")]
    return sorted(written + financial.reports(), key=lambda report: report.name)
