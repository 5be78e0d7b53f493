"""A passage that an answer rests on, and where a person finds it."""

from dataclasses import asdict, dataclass
from typing import Any

from apps.retrieval.search import Passage

# Enough to recognise the place; the rest is on the page.
MAX_QUOTE_CHARS = 320
MAX_BOXES = 20


@dataclass(frozen=True)
class Citation:
    """One passage as to be shown.

    `page` counts from 1; `boxes` are {"page", "x0", "y0", "x1", "y1"} in unrotated page points,
    the origin top left; `score` is the cosine to what was asked; `own` says that the customer
    uploaded the document.
    """

    document: str
    title: str
    page: int
    boxes: list[dict[str, float]]
    quote: str
    section: list[str]
    language: str
    date: str = ""
    score: float = 0.0
    own: bool = False

    @property
    def place(self) -> str:
        """Its first box as text: left, top–right, bottom, in whole points."""
        box = self.boxes[0]
        return f"{box['x0']:.0f},{box['y0']:.0f}–{box['x1']:.0f},{box['y1']:.0f}"

    def json(self) -> dict[str, Any]:
        """The fields for the gateway."""
        return asdict(self)


def citation(passage: Passage) -> Citation:
    """What to show of `passage`."""
    return Citation(
        document=passage.document,
        title=passage.title,
        page=passage.page,
        boxes=passage.boxes[:MAX_BOXES],
        quote=shortened(passage.text),
        section=passage.section,
        language=passage.language,
        date=passage.reported_on.isoformat() if passage.reported_on else "",
        score=round(passage.score, 3),
        own=passage.own,
    )


def shortened(text: str, most: int = MAX_QUOTE_CHARS) -> str:
    """`text` on one line, of at most `most` characters, never cut inside a number or a word."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    end = most - 1
    # A Han character is a word of its own; what has no space in it has to be cut anywhere.
    while end > most // 2 and _joined(line[end - 1], line[end]):
        end -= 1
    return line[:end].rstrip() + "…"


def _joined(left: str, right: str) -> bool:
    return _in_word(left) and _in_word(right)


def _in_word(character: str) -> bool:
    return character in ".,%-–" or (character.isalnum() and character < "\u2e80")
