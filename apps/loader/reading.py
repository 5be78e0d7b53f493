"""Reads a page with PyMuPDF: one pass for text and ruling lines, more only where it is needed."""

import re
from typing import Any

import pymupdf

from apps.loader.page import Matrix, Page, Rectangle, Segment, turned
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
GAP = 0.45
"""Part of the type size: pieces of a line that are farther apart are two."""
THIN = 2.5
"""Points: a filled rectangle that is thinner is a ruling line."""
SIDEWAYS, UNPAINTED = "not horizontal", "not painted"
SCANNED_SHARE = 0.5
"""Part of the page from which on an image is taken for a picture of the page."""
WORD_GAP = 0.15
"""Part of the type size: less is no gap."""
_WHOLE = re.compile(r"(?:^|\s)[-(]?[¥$€£]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+\.\d+)[)%]*$")
_WIDE_GAP = re.compile(r"[\d)%]\s+[-+(¥$€£]?\d|\s{2,}")


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
    for order, block in enumerate(blocks):
        if block["type"] == 0:
            for line in block["lines"]:
                _line(line, order, found, unpainted, fills, textpage, upright)
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


def _line(
    line: dict[str, Any],
    order: int,
    found: Page,
    unpainted: list[Segment],
    fills: list[Fill],
    textpage: Any,
    upright: Matrix | None,
) -> None:
    if not _is_level(line["dir"], upright):
        _hide(found, SIDEWAYS, sum(len(span["text"]) for span in line["spans"]))
        return
    pieces: list[list[Any]] = []
    for span in line["spans"]:
        text, box, size = span["text"], span["bbox"], span["size"]
        if not text or text.isspace():
            continue
        if not span["alpha"] or not span["char_flags"] & PAINTED:
            _hide(found, UNPAINTED, len(text))
            unpainted.append(_segment(text, box, size, False, upright))
            continue
        reason = unseen(span, order, fills)
        if reason or not _inside(box, found, upright):
            _hide(found, reason or "outside the page", len(text))
            continue
        bold = bool(span["flags"] & BOLD)
        if pieces and box[0] - pieces[-1][1][2] < GAP * size and upright is None:
            last = pieces[-1]
            space = " " if _needs_space(last, text, box, size) else ""
            last[0] += space + text
            last[1] = (
                last[1][0], min(last[1][1], box[1]), box[2], max(last[1][3], box[3])
            )  # fmt: skip
            last[3] = last[3] and bold
        else:
            pieces.append([text, box, size, bold])
    for text, box, size, bold in pieces:
        if _WIDE_GAP.search(text.strip()):
            found.segments.extend(_by_words(text, box, size, bold, textpage, upright))
        else:
            found.segments.append(_segment(text, box, size, bold, upright))


def _needs_space(last: list[Any], text: str, box: Rectangle, size: float) -> bool:
    gap = box[0] - last[1][2]
    return gap > 0.18 * size and not last[0].endswith(" ") and not text.startswith(" ")


def _segment(text: str, box: Rectangle, size: float, bold: bool, upright: Matrix | None) -> Segment:
    place = turned(box, upright) if upright else box
    return Segment(*place, text.strip(), size, bold)


def _by_words(
    text: str, box: Rectangle, size: float, bold: bool, textpage: Any, upright: Matrix | None
) -> list[Segment]:
    """The piece cut where a gap is wide: two columns may stand less than a letter apart."""
    middle = (box[1] + box[3]) / 2
    words = [
        word
        for word in textpage.extractWORDS()
        if word[1] < middle < word[3] and word[0] > box[0] - 0.5 and word[2] < box[2] + 0.5
    ]
    words.sort(key=lambda word: word[0])
    if "".join(word[4] for word in words) != "".join(text.split()):
        return [_segment(text, box, size, bold, upright)]
    parts: list[tuple[str, Rectangle]] = []
    for word in words:
        if parts and _close(word[0] - parts[-1][1][2], size, parts[-1][0], word[4]):
            before, place = parts[-1]
            parts[-1] = (f"{before} {word[4]}", (place[0], place[1], word[2], place[3]))
        else:
            parts.append((word[4], (word[0], box[1], word[2], box[3])))
    return [_segment(part, place, size, bold, upright) for part, place in parts]


def _close(gap: float, size: float, before: str, word: str) -> bool:
    """Whether the word belongs to the text before it: two whole amounts never do."""
    if _WHOLE.search(before) and _WHOLE.match(word):
        return gap < WORD_GAP * size
    return gap < GAP * size


def _is_level(direction: tuple[float, float], upright: Matrix | None) -> bool:
    x, y = direction
    if upright is not None:
        x, y = upright[0] * x + upright[2] * y, upright[1] * x + upright[3] * y
    return x > 0.99 and abs(y) < 0.1


def _inside(box: Rectangle, found: Page, upright: Matrix | None) -> bool:
    x0, y0, x1, y1 = turned(box, upright) if upright else box
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    return 0 <= x <= found.width and 0 <= y <= found.height


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
