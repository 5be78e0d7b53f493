"""The page: template, style, scripts and data in one HTML file that asks no network."""

import json
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from observability.session.session import Loss, Session
from observability.view.data import data

_FOLDER = Path(__file__).parent / "page"
# Each uses what stands before it.
_SCRIPTS = ("units.js", "state.js", "picture.js", "list.js", "flame.js", "main.js")


def page(session: Session, loss: Loss) -> str:
    """The HTML text."""
    environment = Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined
    )
    return environment.get_template("page.html.j2").render(
        style=_read("style.css"),
        script=Markup("\n").join(map(_read, _SCRIPTS)),
        data=_inert(json.dumps(data(session, loss), ensure_ascii=False, separators=(",", ":"))),
    )


def _read(name: str) -> Markup:
    return Markup((_FOLDER / name).read_text(encoding="utf-8"))  # noqa: S704 - our own file


def _inert(text: str) -> Markup:
    """JSON in which no name of anybody's function can end the element that holds it."""
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704 - nothing in it opens a tag
