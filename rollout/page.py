"""The status as a small page without scripts."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, Template

from rollout.status import lines

REFRESH_S = 2


def page(data: dict[str, Any]) -> str:
    """HTML that shows the status and reloads itself."""
    shown = lines(data) if "serving" in data else []
    return _template().render(data=data, lines=shown, refresh_s=REFRESH_S)


@cache
def _template() -> Template:
    folder = FileSystemLoader(Path(__file__).parent / "templates")
    return Environment(loader=folder, autoescape=True).get_template("status.html.j2")
