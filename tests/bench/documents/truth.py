"""What a printed report holds, and how much of it somebody found. Pure."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from apps.loader.samples.report import Report, Table

Row = tuple[str, ...]
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")


def plain(text: str) -> str:
    """For comparing: compatibility forms resolved, no white space, so that nobody loses by how
    the lines of a cell are joined."""
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))


def row(cells: Iterable[object]) -> Row:
    """Cells for comparing, without empty ones."""
    texts = (plain(str(cell)) for cell in cells if cell is not None)
    return tuple(text for text in texts if text)


def true_rows(report: Report) -> list[Row]:
    """Every row of every table but the headers."""
    tables = [part for section in report.sections for part in section.parts
              if isinstance(part, Table)]  # fmt: skip
    return [row(cells) for table in tables for cells in table.rows]


def true_order(report: Report) -> list[str]:
    """The paragraphs, and the first cells of rows, as they follow each other."""
    found: list[str] = []
    for section in report.sections:
        for part in section.parts:
            if isinstance(part, Table):
                found += [plain(cells[0] + cells[1]) for cells in part.rows]
            else:
                found.append(plain(part))
    return found


@dataclass
class Score:
    """Counts over files; `numbers` are those in the cells of true rows."""

    rows: int = 0
    rows_exact: int = 0
    numbers: int = 0
    numbers_exact: int = 0
    order: int = 0
    in_order: int = 0

    def add(self, report: Report, found: Sequence[Row], text: str) -> list[Row]:
        """Judge one file; the true rows that were not found. `text` is all of it, in the order
        of reading."""
        rest = Counter(found)
        by_label: dict[str, Counter[str]] = {}
        for cells in found:
            by_label.setdefault(cells[0] if cells else "", Counter()).update(_numbers(cells[1:]))
        missing = []
        for true in true_rows(report):
            self.rows += 1
            if rest[true]:
                rest[true] -= 1
                self.rows_exact += 1
            else:
                missing.append(true)
            for number in _numbers(true[1:]):
                self.numbers += 1
                self.numbers_exact += number in by_label.get(true[0], ())
        self._order(report, plain(text))
        return missing

    def _order(self, report: Report, text: str) -> None:
        """How many paragraphs and rows stand whole and after what they follow."""
        at = 0
        for wanted in true_order(report):
            self.order += 1
            place = text.find(wanted, at)
            if place >= 0:
                self.in_order += 1
                at = place

    def shares(self, name: str) -> dict[str, float]:
        """Parts of 1."""
        return {
            f"rows_exact{name}": round(self.rows_exact / self.rows, 4),
            f"numbers_exact{name}": round(self.numbers_exact / self.numbers, 4),
            f"order{name}": round(self.in_order / self.order, 4),
        }


def _numbers(cells: Iterable[str]) -> list[str]:
    return [number for cell in cells for number in _NUMBER.findall(cell)]
