"""Strict reading of a small YAML document: every error names its line and what to do."""

from collections.abc import Collection
from dataclasses import dataclass

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

MAX_BYTES = 256 * 1024
MAX_DEPTH = 20
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class BadDocument(ValueError):
    """A document that does not say what it must; one line with the place and the remedy."""


@dataclass(frozen=True)
class Value:
    """One node of the document and its path, for example `turns[1].expect`."""

    node: Node
    path: str

    def bad(self, wrong: str) -> BadDocument:
        """The error that says `wrong` about this place."""
        return BadDocument(f"line {self.node.start_mark.line + 1}: {self.path}: {wrong}")

    def mapping(self, required: Collection[str], optional: Collection[str]) -> "dict[str, Value]":
        """The named fields; refuses a missing, an unknown or a repeated one."""
        fields = self.any_mapping()
        allowed = [*required, *optional]
        for name, value in fields.items():
            if name not in allowed:
                raise value.bad(f"unknown field; use one of {', '.join(allowed)}")
        for name in required:
            if name not in fields:
                raise self.bad(f"the field {name!r} is missing; add it")
        return fields

    def any_mapping(self) -> "dict[str, Value]":
        """All fields of a mapping whose names are free."""
        if not isinstance(self.node, MappingNode):
            raise self.bad("write a mapping here (name: value)")
        fields: dict[str, Value] = {}
        for key, node in self.node.value:
            name = Value(key, self.path).text()
            value = Value(node, f"{self.path}.{name}" if self.path != "document" else name)
            if name in fields:
                raise Value(key, value.path).bad("the field stands here twice; remove one")
            fields[name] = value
        return fields

    def sequence(self, least: int, most: int) -> "list[Value]":
        """The items of a list of `least` to `most` items."""
        if not isinstance(self.node, SequenceNode):
            raise self.bad("write a list here (- item)")
        items = [Value(n, f"{self.path}[{i}]") for i, n in enumerate(self.node.value)]
        if not least <= len(items) <= most:
            raise self.bad(f"has {len(items)} items; give {least} to {most}")
        return items

    def text(self, most: int = 4000) -> str:
        """A string of 1 to `most` characters."""
        if self._tag() != "str":
            raise self.bad("write a text here (in quotes if it looks like a number)")
        text: str = self.node.value
        if not 1 <= len(text) <= most:
            raise self.bad(f"has {len(text)} characters; give 1 to {most}")
        return text

    def scalar(self) -> str:
        """A text or a number, as it is written."""
        if self._tag() not in ("str", "int", "float"):
            raise self.bad("write a text or a number here")
        return str(self.node.value)

    def choice(self, options: Collection[str]) -> str:
        """One of `options`."""
        text = self.text()
        if text not in options:
            raise self.bad(f"{text!r} is not known; use one of {', '.join(options)}")
        return text

    def integer(self, least: int, most: int) -> int:
        """A whole number from `least` to `most`."""
        number = self.number(least, most)
        if not number.is_integer():
            raise self.bad("write a whole number")
        return int(number)

    def number(self, least: float, most: float) -> float:
        """A number from `least` to `most`."""
        if self._tag() not in ("int", "float"):
            raise self.bad("write a number here")
        try:
            number = float(self.node.value)
        except ValueError:
            raise self.bad(f"{self.node.value!r} is not a plain decimal number") from None
        if not least <= number <= most:
            raise self.bad(f"{self.node.value} is outside {least:g} to {most:g}")
        return number

    def boolean(self) -> bool:
        """`true` or `false`."""
        if self._tag() != "bool" or self.node.value not in ("true", "false"):
            raise self.bad("write true or false")
        return bool(self.node.value == "true")

    def _tag(self) -> str:
        if not isinstance(self.node, ScalarNode):
            return ""
        return self.node.tag.rpartition(":")[2]


def read(text: str, most: int = MAX_BYTES) -> Value:
    """The root of the document in `text`, which has at most `most` bytes.

    Raises BadDocument for a text that is too long or too deep, is not YAML, or uses
    aliases (a few lines of aliases can stand for gigabytes).
    """
    if len(text.encode("utf8", "replace")) > most:
        raise BadDocument(f"the document is longer than {most} bytes; split it")
    try:
        refuse_tricks(text)
        node = yaml.compose(text, Loader=LOADER)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        problem = getattr(error, "problem", None) or "is not YAML"
        raise BadDocument(f"{where}{problem}; mend the YAML") from None
    if node is None:
        raise BadDocument("the document is empty; write its fields")
    return Value(node, "document")


def refuse_tricks(text: str, deepest: int = MAX_DEPTH) -> None:
    """Refuse aliases and depth as they are met: reading on is quadratic in the depth.

    Raises BadDocument, or yaml.YAMLError for what is not YAML.
    """
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        line = event.start_mark.line + 1 if event.start_mark else 0
        if isinstance(event, yaml.AliasEvent):
            raise BadDocument(f"line {line}: aliases are refused; write the value out")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > deepest:
            raise BadDocument(f"line {line}: nested deeper than {deepest}; flatten it")
