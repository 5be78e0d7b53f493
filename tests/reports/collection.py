"""Sample reports printed by five programs that write PDF, with known contents."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from apps.loader.samples import paper
from apps.loader.samples.library import library
from apps.loader.samples.report import Report
from tests.reports import browser_paper, fpdf_paper, reportlab_paper, writer_paper
from tests.reports.quarterly import quarterly

Print = Callable[[Report, Path, int], None]

PRINTERS: dict[str, Print] = {
    "pymupdf": lambda report, path, style: paper.print_report(report, path),
    "reportlab": reportlab_paper.print_report,
    "fpdf2": fpdf_paper.print_report,
    "chromium": browser_paper.print_report,
    "libreoffice": writer_paper.print_report,
}


@dataclass(frozen=True)
class Printed:
    """A file, who printed it, and what is in it."""

    path: Path
    printer: str
    report: Report


def printed(folder: Path, per_printer: int) -> Iterator[Printed]:
    """At least two reports from each printer, Chinese and English in turn; files that are in
    `folder` already are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    chinese = [report for report in library() if report.language == "zh"]
    english = [report for report in library() if report.language == "en"]
    mixed = [report for pair in zip(chinese, english, strict=False) for report in pair]
    for shift, (printer, write) in enumerate(PRINTERS.items()):
        for at in range(per_printer):
            # The last two are the long ones.
            long = at - per_printer + 2
            report = (
                quarterly(("zh", "en")[long]) if long >= 0 else mixed[(at + 3 * shift) % len(mixed)]
            )
            path = folder / f"{printer}-{report.name}.pdf"
            if not path.exists():
                part = path.with_suffix(".part")
                write(report, part, at // 2)
                part.rename(path)
            yield Printed(path, printer, report)
