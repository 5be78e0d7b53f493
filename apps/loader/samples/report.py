"""A report before it is printed: what the loader should find again. Pure."""

import re
from dataclasses import dataclass
from datetime import date
from itertools import groupby
from typing import Literal

_HEAD = re.compile(r"(name|title|language|department|date): (.+)")


class BadReport(ValueError):
    """A text that is no report: one line with the file and what is missing."""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells as text, the header first; `ruled` tables are printed with lines."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    ruled: bool = True


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it, in reading order."""

    title: str
    parts: tuple[str | Table, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """One report; `name` is its file name without the ending."""

    name: str
    title: str
    language: Literal["zh", "en"]
    department: str
    date: date
    sections: tuple[Section, ...]


def parse(text: str, source: str) -> Report:
    """Read a report: head lines (`title: …`), `# section` lines, paragraphs of a line each, tables.

    The line before a table's first `|` line is its title; `||` begins an unruled table.
    """
    head, _, body = text.partition("\n\n")
    lines = filter(None, map(_HEAD.fullmatch, head.splitlines()))
    fields: dict[str, str] = {line[1]: line[2] for line in lines}
    missing = {"name", "title", "language", "department", "date"} - set(fields)
    if missing:
        raise BadReport(f"{source}: the head lacks {', '.join(sorted(missing))}")
    sections = [_section(part, source) for part in re.split(r"^# ", body, flags=re.M) if part]
    return Report(
        fields["name"],
        fields["title"],
        "zh" if fields["language"] == "zh" else "en",
        fields["department"],
        date.fromisoformat(fields["date"]),
        tuple(sections),
    )


def _section(text: str, source: str) -> Section:
    title, *lines = filter(None, (line.strip() for line in text.splitlines()))
    parts: list[str | Table] = []
    for is_table, group in groupby(lines, lambda line: line.startswith("|")):
        if not is_table:
            parts.extend(group)
        elif parts and isinstance(parts[-1], str):
            parts[-1] = _table(parts[-1], list(group))
        else:
            raise BadReport(f"{source}: the table in {title!r} has no title before it")
    return Section(title, tuple(parts))


def _table(title: str, lines: list[str]) -> Table:
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return Table(title, rows[0], tuple(rows[1:]), ruled=not lines[0].startswith("||"))
