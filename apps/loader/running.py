"""Running heads, feet and page numbers: repeated on page after page, they belong to none. Pure."""

import re
from collections import Counter
from collections.abc import Sequence

from apps.loader.page import Page, Segment

MARGIN = 0.09
"""Part of the page's height, above and below."""
SHARE = 0.4
"""Part of the pages on which a line must return."""
_NUMBER = re.compile(
    r"[-–—·\s]*(?:第\s*)?(?:page\s*)?\d{1,4}(?:\s*(?:页|/|of)\s*(?:共\s*)?\d{0,4}(?:\s*页)?)?[-–—·\s]*",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+")


def bodies(pages: Sequence[Page]) -> list[list[Segment]]:
    """Each page's pieces without those that run through the document."""
    keys = [
        {_key(page, piece) for piece in page.segments if _at_edge(page, piece)} for page in pages
    ]
    seen = Counter(key for page in keys for key in page)
    least = max(2, SHARE * len(pages))
    return [
        [
            piece
            for piece in page.segments
            if not _at_edge(page, piece)
            or (not _NUMBER.fullmatch(piece.text) and seen[_key(page, piece)] < least)
        ]
        for page in pages
    ]


def _at_edge(page: Page, piece: Segment) -> bool:
    return piece.y1 < MARGIN * page.height or piece.y0 > (1 - MARGIN) * page.height


def _key(page: Page, piece: Segment) -> tuple[str, int]:
    """Equal for the same line on different pages, whatever number is in it."""
    return _DIGITS.sub("#", piece.text), round(piece.middle / page.height * 50)
