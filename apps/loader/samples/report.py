"""A report before it is printed: what the loader should find again. Pure."""

import re
from dataclasses import dataclass
from datetime import date
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
    """Read a report written as head lines (`title: …`), `# sections`, paragraphs and `|` tables.

    The paragraph right before a table is its title; `||` begins the rows of an unruled one.
    """
    head, _, body = text.partition("\n\n")
    fields = dict(match.groups() for line in head.splitlines() if (match := _HEAD.fullmatch(line)))
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
    title, _, body = text.partition("\n")
    parts: list[str | Table] = []
    for block in filter(None, (block.strip() for block in re.split(r"\n\s*\n", body))):
        if not block.startswith("|"):
            parts.append(" ".join(block.split("\n")))
            continue
        if not parts or not isinstance(parts[-1], str):
            raise BadReport(f"{source}: the table in {title!r} has no title before it")
        parts[-1] = _table(parts[-1], block)
    return Section(title.strip(), tuple(parts))


def _table(title: str, block: str) -> Table:
    lines = block.split("\n")
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    return Table(title, rows[0], tuple(rows[1:]), ruled=not lines[0].startswith("||"))
