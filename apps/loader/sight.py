"""What a reader of the page sees of a piece of text. Pure."""

from typing import Any, NamedTuple

from apps.loader.page import Rectangle

TINY = 1.5
"""Points: type that nobody can read."""
CONTRAST = 24
"""Of 255: colours that differ less in every channel look the same."""
OPAQUE = 255
PAPER, INK = 0xFFFFFF, 0


class Fill(NamedTuple):
    """A filled area that text may stand on or lie under; `order` is when it was painted."""

    order: int
    box: Rectangle
    colour: int
    alpha: int


def unseen(span: dict[str, Any], order: int, fills: list[Fill]) -> str:
    """Why a reader cannot see the painted `span`, part of block `order`; "" if one can."""
    if span["size"] < TINY:
        return "too small to read"
    colour, alpha = span["color"], span["alpha"]
    if colour == INK and alpha == OPAQUE and not fills:
        return ""
    x0, y0, x1, y1 = span["bbox"]
    x, y, ground = (x0 + x1) / 2, (y0 + y1) / 2, PAPER
    for fill in fills:
        left, top, right, bottom = fill.box
        if not (left <= x <= right and top <= y <= bottom):
            continue
        if fill.order < order:
            ground = _mixed(fill.colour, ground, fill.alpha)
        elif fill.alpha == OPAQUE and _covers(fill, x0, x1, colour):
            return "covered"
    return "the colour of its ground" if _alike(_mixed(colour, ground, alpha), ground) else ""


def _covers(fill: Fill, x0: float, x1: float, colour: int) -> bool:
    """Whether what is painted over the text hides it: in its own colour, or as white or black
    as paint for that is. Another colour may be a marker's, which is mixed with what is below."""
    if _alike(fill.colour, colour):
        return True
    share = (min(fill.box[2], x1) - max(fill.box[0], x0)) / max(x1 - x0, 0.01)
    return share > 0.8 and (_alike(fill.colour, PAPER) or _alike(fill.colour, INK))


def _mixed(colour: int, ground: int, alpha: int) -> int:
    """`colour` as it looks over `ground`."""
    if alpha == OPAQUE:
        return colour
    channels = ((colour >> by & 255, ground >> by & 255, by) for by in (0, 8, 16))
    return sum(((one * alpha + other * (OPAQUE - alpha)) // OPAQUE) << by
               for one, other, by in channels)  # fmt: skip


def _alike(one: int, other: int) -> bool:
    return all(abs((one >> by & 255) - (other >> by & 255)) < CONTRAST for by in (0, 8, 16))
