"""Pages that are left out, and why. Pure."""

import re
from collections import Counter
from collections.abc import Sequence

from apps.loader.page import Page, Segment
from apps.loader.reading import SCANNED_SHARE, SIDEWAYS
from apps.loader.rows import Row, joined, rows

COVER_CHARACTERS = 220
COVER_LINES = 12
TOC_SHARE = 0.5
_LEADER = re.compile(r"(?:\.\s?){4,}|…{2,}|·{4,}|_{4,}")
_ENDS_IN_PAGE = re.compile(r"\D\s*\d{1,3}$")
_TOC = re.compile(r"目\s*录|(?:table of )?contents", re.IGNORECASE)
_APPENDIX = re.compile(
    r"(?:附录|附件|appendix|annex)(?:\W|\d|[一二三四五六七八九十A-Z]|$)", re.IGNORECASE
)
_SENTENCE = re.compile(r"[。；]|[a-z)][.;](?:\s|$)")


def left_out(pages: Sequence[Page], bodies: Sequence[Sequence[Segment]]) -> list[str]:
    """For each page why it is left out, "" for one that is read."""
    reasons: list[str] = []
    in_appendix = False
    usual = _usual(bodies)
    for page, body in zip(pages, bodies, strict=True):
        lines = rows(body)
        reason = _without_text(page, body) or _front_matter(page, lines, len(pages))
        if not reason and lines:
            first = lines[0]
            if first[0].size > 1.1 * usual:
                in_appendix = bool(_APPENDIX.match(joined(first)))
            reason = "appendix" if in_appendix else ""
        reasons.append(reason)
    return reasons


def _without_text(page: Page, body: Sequence[Segment]) -> str:
    if body:
        return ""
    if page.image_share >= SCANNED_SHARE:
        return "scanned"
    if page.segments or not page.hidden:
        return "empty"
    return "slanted text only" if set(page.hidden) == {SIDEWAYS} else "invisible text only"


def _front_matter(page: Page, lines: Sequence[Row], total: int) -> str:
    texts = [joined(row) for row in lines]
    if page.number == 1 and total > 1 and _is_cover(lines, texts):
        return "cover"
    leaders = sum(bool(_LEADER.search(text)) for text in texts)
    if leaders >= 3 and leaders >= TOC_SHARE * len(texts):
        return "table of contents"
    titled = any(_TOC.fullmatch(text.strip()) for text in texts[:2])
    if titled and (leaders or _numbered(texts) >= TOC_SHARE * (len(texts) - 1)):
        return "table of contents"
    return ""


def _numbered(texts: Sequence[str]) -> int:
    return sum(bool(_ENDS_IN_PAGE.search(text)) for text in texts)


def _is_cover(lines: Sequence[Row], texts: Sequence[str]) -> bool:
    """Few words, no sentence, and the largest of them large."""
    few = len(lines) <= COVER_LINES and sum(map(len, texts)) <= COVER_CHARACTERS
    sizes = [piece.size for row in lines for piece in row]
    return few and not any(map(_SENTENCE.search, texts)) and max(sizes) >= 1.3 * min(sizes)


def _usual(bodies: Sequence[Sequence[Segment]]) -> float:
    """The size of most of the document's text."""
    sizes: Counter[float] = Counter()
    for body in bodies:
        for piece in body:
            sizes[round(piece.size, 1)] += len(piece.text)
    return sizes.most_common(1)[0][0] if sizes else 0.0
