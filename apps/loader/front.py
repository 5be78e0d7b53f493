"""What a document says about itself: title, language, date. Pure."""

import re
from collections.abc import Iterable, Sequence
from datetime import date

from apps.loader.chunk import Language
from apps.loader.page import Page
from apps.loader.rows import rows

TITLE_LETTERS = 200
_MONTHS = "january february march april may june july august september october november december"
_MONTH = {name[:3]: number for number, name in enumerate(_MONTHS.split(), start=1)}
_DATES = (
    re.compile(r"(?P<y>(?:19|20)\d\d)\s*[年./-]\s*(?P<m>\d{1,2})\s*[月./-]\s*(?P<d>\d{1,2})"),
    re.compile(
        r"(?P<d>\d{1,2})(?:st|nd|rd|th)?\s+(?P<n>[A-Z][a-z]{2,8})\.?,?\s+(?P<y>(?:19|20)\d\d)"
    ),
    re.compile(r"(?P<n>[A-Z][a-z]{2,8})\.?\s+(?P<d>\d{1,2}),?\s+(?P<y>(?:19|20)\d\d)"),
)
_CENTURY = re.compile(r"19\d\d|20\d\d")
_FILE_NAME = re.compile(r"\.[A-Za-z]{2,5}$")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")
_CJK = re.compile(r"[\u3400-\u9fff]")
_LETTER = re.compile(r"[A-Za-z]")


def title(pages: Sequence[Page], metadata: str, name: str) -> str:
    """The file's own title, or the largest line of the first page with text, or `name`."""
    metadata = _CONTROL.sub(" ", metadata).strip()
    if metadata and not _FILE_NAME.search(metadata) and "�" not in metadata:
        return metadata[:TITLE_LETTERS]
    first = next((page for page in pages if page.segments), None)
    if first is None:
        return name
    largest = max(piece.size for piece in first.segments)
    found: list[str] = []
    for row in rows(piece for piece in first.segments if piece.size > largest - 0.5):
        found.append(" ".join(piece.text for piece in row))
    glue = "" if _CJK.search("".join(found)) else " "
    return glue.join(found)[:TITLE_LETTERS] or name


def language(texts: Iterable[str]) -> Language:
    """`zh` if there is a Chinese character for every ten Latin letters."""
    sample = "".join(texts)[:20_000]
    return "zh" if 10 * len(_CJK.findall(sample)) > len(_LETTER.findall(sample)) else "en"


def report_date(texts: Iterable[str]) -> date | None:
    """The first full date that is written in the texts."""
    for text in filter(_CENTURY.search, texts):
        for form in _DATES:
            for match in form.finditer(text):
                if found := _date(match.groupdict()):
                    return found
    return None


def _date(parts: dict[str, str | None]) -> date | None:
    month = parts.get("m") or _MONTH.get((parts.get("n") or "")[:3].lower())
    try:
        return date(int(parts["y"] or 0), int(month or 0), int(parts["d"] or 0))
    except ValueError:
        return None
