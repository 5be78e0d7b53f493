"""Prints reports from a browser: HTML with white heads on a dark ground, wrapped labels."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from jinja2 import Environment

from apps.loader.samples.report import Report

_PAGE = Environment(autoescape=True).from_string("""<!doctype html>
<html lang="{{ report.language }}"><head><meta charset="utf-8"><title>{{ report.title }}</title>
<style>
  @page { size: A4; margin: 20mm }
  body { font: 10.5pt/1.5 {{ family }} }
  h1 { font-size: 20pt } h2 { font-size: 14pt; break-after: avoid }
  table { border-collapse: collapse; width: 100%; margin: 4pt 0 10pt }
  th, td { padding: 3pt 6pt; text-align: right } td:first-child, th:first-child {
    text-align: left; width: 32% }
  .lines td, .lines th { border: 1px solid #555 }
  .dark th { background: #1d3557; color: #fff } .dark td { border-bottom: 1px solid #ddd }
</style></head><body><h1>{{ report.title }}</h1>
{% for section in report.sections %}<h2>{{ section.title }}</h2>
{% for part in section.parts %}{% if part is string %}<p>{{ part }}</p>{% else %}
<p>{{ part.title }}</p><table class="{{ 'plain' if not part.ruled else kind }}">
<thead><tr>{% for cell in part.header %}<th>{{ cell }}</th>{% endfor %}</tr></thead>
<tbody>{% for row in part.rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table>{% endif %}{% endfor %}{% endfor %}
</body></html>""")
_SECONDS = 60


def print_report(report: Report, path: Path, style: int) -> None:
    """Write `report`; `style` chooses between lines and a dark head."""
    family = "'Noto Sans CJK SC', sans-serif" if report.language == "zh" else "DejaVu Serif, serif"
    text = _PAGE.render(report=report, kind=("lines", "dark")[style % 2], family=family)
    browser = shutil.which("chromium")
    if browser is None:
        raise SystemExit("chromium is missing; run `make tests/.packages`")
    with tempfile.TemporaryDirectory(prefix="switchyard-print-") as folder:
        page = Path(folder) / "report.html"
        page.write_text(text, "utf-8")
        command = [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"),
            *(f"--user-data-dir={folder}/profile", f"--print-to-pdf={path}", page.as_uri()),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=_SECONDS)
