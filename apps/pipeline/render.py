"""Sentences from facts: one Jinja2 template an intent and language, no number of its own."""

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from apps.pipeline.analytes import about
from apps.pipeline.reply import Fact, Reply

TEMPLATES = Path(__file__).parent / "templates"


class Renderer:
    """All templates, compiled once. The result is plain text, so nothing is escaped for HTML."""

    def __init__(self) -> None:
        environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            autoescape=select_autoescape(()),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        names = environment.list_templates(extensions=["j2"])
        self._templates = {
            name.removesuffix(".j2"): environment.get_template(name) for name in names
        }

    def __call__(self, name: str, reply: Reply, **more: Any) -> str:
        """The text of the template `name` in the reply's language."""
        facts = {fact.name: fact for fact in reply.facts}
        template = self._templates[f"{name}.{reply.language}"]

        def explained(fact: Fact) -> str:
            return about(fact, reply.language)

        return template.render(reply=reply, facts=facts, about=explained, **more).strip()
