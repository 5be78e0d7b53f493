"""Running heads, feet and page numbers: repeated on page after page, they belong to none. Pure."""

import re
from collections import Counter
from collections.abc import Sequence

from apps.loader.page import Page, Segment

MARGIN = 0.09
"""Part of the page's height, above and below."""
APART = 1.3
"""Times the type's height: what is closer to the text belongs to it."""
SHARE = 0.4
"""Part of the pages on which a line must return."""
_NUMBER = re.compile(
    r"[-–—·\s]*(?:第\s*)?(?:page\s*)?\d{1,4}(?:\s*(?:页|/|of)\s*(?:共\s*)?\d{0,4}(?:\s*页)?)?[-–—·\s]*",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+")


def bodies(pages: Sequence[Page]) -> list[list[Segment]]:
    """Each page's pieces without those that run through the document."""
    edges = [_edge(page) for page in pages]
    keys = [{_key(page, piece) for piece in edge} for page, edge in zip(pages, edges, strict=True)]
    seen = Counter(key for page in keys for key in page)
    least = max(2, SHARE * len(pages))
    found = []
    for page, edge in zip(pages, edges, strict=True):
        out = {
            piece
            for piece in edge
            if _NUMBER.fullmatch(piece.text) or seen[_key(page, piece)] >= least
        }
        found.append([piece for piece in page.segments if piece not in out])
    return found


def _edge(page: Page) -> list[Segment]:
    """What stands above or below the text and apart from it: the head of a table that goes on
    from page to page does not."""
    top, bottom = MARGIN * page.height, (1 - MARGIN) * page.height
    above = sorted((piece for piece in page.segments if piece.y1 < top), key=lambda one: one.y0)
    below = sorted((piece for piece in page.segments if piece.y0 > bottom), key=lambda one: -one.y1)
    inner = [piece for piece in page.segments if piece.y1 >= top and piece.y0 <= bottom]
    first = min((piece.y0 for piece in inner), default=page.height)
    last = max((piece.y1 for piece in inner), default=0.0)
    return [
        *_apart([(piece.y0, piece.y1, piece) for piece in above], first),
        *_apart([(-piece.y1, -piece.y0, piece) for piece in below], -last),
    ]


def _apart(pieces: list[tuple[float, float, Segment]], text: float) -> list[Segment]:
    """Of pieces from the page's edge inwards, those outside of the innermost wide gap; `text` is
    where the rest of the page begins."""
    outside = 0
    for at, (_, end, _) in enumerate(pieces):
        following = [begin for begin, _, _ in pieces[at + 1 :]]
        gap = min([*following, text]) - max(end for _, end, _ in pieces[: at + 1])
        if gap >= APART * abs(pieces[at][1] - pieces[at][0]):
            outside = at + 1
    return [piece for _, _, piece in pieces[:outside]]


def _key(page: Page, piece: Segment) -> tuple[str, int]:
    """Equal for the same line on different pages, whatever number is in it."""
    return _DIGITS.sub("#", piece.text), round(piece.middle / page.height * 50)
