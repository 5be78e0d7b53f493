"""Reads a page with PyMuPDF: one pass for text and ruling lines, more only where it is needed."""

from typing import Any

import pymupdf

from apps.loader.page import Matrix, Page, Rectangle, Segment, turned
from apps.loader.pieces import Pieces, Span
from apps.loader.sight import Fill, unseen

# A glyph without a Unicode value stays U+FFFD: a guess from its number would look like text.
FLAGS = (
    pymupdf.TEXT_PRESERVE_LIGATURES
    | pymupdf.TEXT_PRESERVE_WHITESPACE
    | pymupdf.TEXT_MEDIABOX_CLIP
    | pymupdf.mupdf.FZ_STEXT_COLLECT_VECTORS
)
PAINTED = pymupdf.mupdf.FZ_STEXT_FILLED | pymupdf.mupdf.FZ_STEXT_STROKED
BOLD = pymupdf.TEXT_FONT_BOLD
THIN = 2.5
"""Points: a filled rectangle that is thinner is a ruling line."""
SIDEWAYS, UNPAINTED = "not horizontal", "not painted"
SCANNED_SHARE = 0.5
"""Part of the page from which on an image is taken for a picture of the page."""


def read_page(page: pymupdf.Page) -> Page:
    """`page` as data. Raises what PyMuPDF raises on a page that it cannot interpret."""
    textpage = page.get_textpage(flags=FLAGS)
    blocks = textpage.extractDICT()["blocks"]
    found, unpainted = _read(page, page.rotation, textpage, blocks)
    if found.hidden.get(SIDEWAYS, 0) > sum(len(piece.text) for piece in found.segments):
        # A wide table stands on its side: what most of the text says is upright.
        found, unpainted = _read(page, _usual_turn(blocks), textpage, blocks)
    if not found.segments or found.hidden or page.get_images():
        _look_at_images(page, found, unpainted)
    return found


def _read(
    page: pymupdf.Page, turn: int, textpage: Any, blocks: list[dict[str, Any]]
) -> tuple[Page, list[Segment]]:
    """The page read turned by `turn` degrees, and what is not painted on it."""
    whole, upright, restore = page.rect, None, None
    width, height = whole.width, whole.height
    if page.rotation % 180:
        width, height = height, width
    if turn:
        upright = _turning(turn, width, height)
        restore = tuple(~pymupdf.Matrix(*upright))
    if turn % 180:
        width, height = height, width
    found = Page(page.number + 1, width, height, [], restore=restore)
    fills = _vectors(found, blocks, upright)
    unpainted: list[Segment] = []
    pieces = Pieces(textpage, upright)
    for order, block in enumerate(blocks):
        for line in block["lines"] if block["type"] == 0 else ():
            found.segments += pieces.of(_visible(line, order, found, unpainted, fills, upright))
    return found, unpainted


def _turning(degrees: int, width: float, height: float) -> Matrix:
    """From the unrotated page, as wide and high as given, to the one turned clockwise."""
    return {
        90: (0.0, 1.0, -1.0, 0.0, height, 0.0),
        180: (-1.0, 0.0, 0.0, -1.0, width, height),
        270: (0.0, -1.0, 1.0, 0.0, 0.0, width),
    }[degrees]


def _usual_turn(blocks: list[dict[str, Any]]) -> int:
    """The degrees by which most of the text stands upright."""
    characters = dict.fromkeys((0, 90, 180, 270), 0)
    for block in blocks:
        for line in block["lines"] if block["type"] == 0 else ():
            for turn in characters:
                if _is_level(line["dir"], _turning(turn, 0, 0) if turn else None):
                    characters[turn] += sum(len(span["text"]) for span in line["spans"])
    return max(characters, key=characters.__getitem__)


def _visible(
    line: dict[str, Any],
    order: int,
    found: Page,
    unpainted: list[Segment],
    fills: list[Fill],
    upright: Matrix | None,
) -> list[Span]:
    """The spans of a line that a reader sees; the others are counted."""
    if not _is_level(line["dir"], upright):
        _hide(found, SIDEWAYS, sum(len(span["text"]) for span in line["spans"]))
        return []
    seen: list[Span] = []
    for span in line["spans"]:
        text, size = span["text"], span["size"]
        if not text or text.isspace():
            continue
        box = turned(span["bbox"], upright) if upright else span["bbox"]
        if not span["alpha"] or not span["char_flags"] & PAINTED:
            _hide(found, UNPAINTED, len(text))
            x0, y0, x1, y1 = box
            unpainted.append(Segment(x0, y0, x1, y1, text.strip(), size, False))
        elif reason := unseen(span, order, fills) or _outside(box, found):
            _hide(found, reason, len(text))
        else:
            seen.append(Span(text, box, size, bool(span["flags"] & BOLD)))
    return seen


def _is_level(direction: tuple[float, float], upright: Matrix | None) -> bool:
    x, y = direction
    if upright is not None:
        x, y = upright[0] * x + upright[2] * y, upright[1] * x + upright[3] * y
    return x > 0.99 and abs(y) < 0.1


def _outside(box: Rectangle, found: Page) -> str:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return "" if 0 <= x <= found.width and 0 <= y <= found.height else "outside the page"


def _hide(found: Page, reason: str, characters: int) -> None:
    found.hidden[reason] = found.hidden.get(reason, 0) + characters


def _vectors(found: Page, blocks: list[dict[str, Any]], upright: Matrix | None) -> list[Fill]:
    """Puts ruling lines into `found`; returns the filled areas that text may stand on."""
    fills: list[Fill] = []
    for order, block in enumerate(blocks):
        if block["type"] != 3 or not block["alpha"]:
            continue
        box = block["bbox"]
        area = turned(box, upright) if upright else box
        x0, y0, x1, y1 = area
        if y1 - y0 <= THIN:
            if x1 - x0 > THIN:
                found.bars.append(area)
        elif x1 - x0 <= THIN:
            found.columns.append(area)
        elif block["isrect"]:
            if block["stroked"]:
                found.bars += [(x0, y0, x1, y0), (x0, y1, x1, y1)]
                found.columns += [(x0, y0, x0, y1), (x1, y0, x1, y1)]
            else:
                fills.append(Fill(order, box, block["color"], block["alpha"]))
    return fills


def _look_at_images(page: pymupdf.Page, found: Page, unpainted: list[Segment]) -> None:
    """An OCR layer is what is not painted over a picture of the page, or painted under it: then
    it is the text."""
    whole = found.width * found.height
    images = page.get_image_info()
    covered = max((_area(image["bbox"]) for image in images), default=0.0)
    found.image_share = min(1.0, covered / whole)
    if found.image_share < SCANNED_SHARE:
        return
    if not found.segments and unpainted:
        found.segments, found.ocr = unpainted, True
        del found.hidden[UNPAINTED]
    elif found.segments:
        solid = any(_area(image["bbox"]) == covered and not image["has-mask"] for image in images)
        found.ocr = solid and _is_under_picture(page, SCANNED_SHARE * whole)


def _is_under_picture(page: pymupdf.Page, least: float) -> bool:
    """Whether most of the text was painted before the last picture of that area."""
    painted = [kind if kind == "fill-text" or _area(box) >= least else ""
               for kind, box in page.get_bboxlog()]  # fmt: skip
    if "fill-image" not in painted:
        return False
    last = len(painted) - painted[::-1].index("fill-image")
    return 2 * painted[:last].count("fill-text") > painted.count("fill-text")


def _area(box: Rectangle) -> float:
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])
