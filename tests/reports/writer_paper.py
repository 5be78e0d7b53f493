"""Prints reports from LibreOffice Writer: tables with and without lines, labels that wrap beside
values at the top, the middle or the bottom of their row."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from jinja2 import Environment

from apps.loader.samples.report import Report

TEMPLATE = Path(__file__).with_name("writer.fodt.j2")
_WIDTH = 17.0
_FIRST, _FIRST_OF_MANY = 6.0, 4.0
"""Centimetres."""
_SECONDS = 60


def print_report(report: Report, path: Path, style: int) -> None:
    """Write `report`; `style` chooses where values stand in their row, and how tight rows are."""
    writer = shutil.which("soffice")
    if writer is None:
        raise SystemExit("soffice is missing; run `make tests/bench/.packages`")
    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    text = environment.from_string(TEMPLATE.read_text("utf-8")).render(
        report=report,
        font="Noto Sans CJK SC" if report.language == "zh" else "DejaVu Serif",
        widths=_widths(),
        vertical=("top", "middle", "bottom")[style % 3],
        padding=("3pt", "0pt")[style % 2],
    )
    with tempfile.TemporaryDirectory(prefix="switchyard-print-") as folder:
        source = Path(folder) / "report.fodt"
        source.write_text(text, "utf-8")
        profile = (Path(folder) / "profile").as_uri()
        command = [
            *(writer, "--headless", f"-env:UserInstallation={profile}"),
            *("--convert-to", "pdf", "--outdir", folder, str(source)),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)
        shutil.move(source.with_suffix(".pdf"), path)


def _widths() -> dict[str, float]:
    """Of the first column, and of the others in a table of so many."""
    found = {"First": _FIRST, "FirstOfMany": _FIRST_OF_MANY}
    for columns in range(2, 8):
        first = _FIRST_OF_MANY if columns > 4 else _FIRST
        found[f"OtherOf{columns}"] = round((_WIDTH - first) / (columns - 1), 3)
    return found
