"""What a customer wrote, made safe to handle: valid Unicode, bounded, normalised, its language."""

import re
import unicodedata
from dataclasses import dataclass

MAX_CHARS = 4000
# NFKC can turn one character into eighteen (U+FDFA), so the bytes are bounded before it runs.
MAX_BYTES = MAX_CHARS * 4

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_LATIN_WORD = re.compile(r"[A-Za-zＡ-Ｚａ-ｚ]+")
# No sentence is without one for long, and hardly a company's name has any.
_SAID_EN = re.compile(r"\b(?:the|of|is|are|was|does|do|did|what|how|please|my|i)\b", re.IGNORECASE)
_SAID_ZH = re.compile("[的是吗嗎呢了吧么麼什多少几幾怎请請问問我你您想把被给給]")
_SPACE = re.compile(r"\s+")
_KEPT_CONTROLS = "\n\t"


@dataclass(frozen=True)
class Query:
    """A query ready for the models.

    `written` is what the customer wrote without invisible control characters, for people to read;
    `text` is its normal form, for models; `language` is "zh" or "en"; `problem` is "" or one of
    "empty", "too long", which means that nothing but the language may be used.
    """

    written: str
    text: str
    language: str
    problem: str = ""


def language_of(text: str) -> str:
    """ "zh" or "en": a Chinese sentence may be full of Latin words, and an English one names
    Chinese companies. What tells is the little words, then which there is more of."""
    han = len(_HAN.findall(text))
    if not han or (_SAID_EN.search(text) and not _SAID_ZH.search(text)):
        return "en"
    return "zh" if _SAID_ZH.search(text) or han >= len(_LATIN_WORD.findall(text)) else "en"


def read_query(raw: bytes) -> Query:
    """The query in `raw` (UTF-8; bytes that are not become U+FFFD)."""
    if len(raw) > MAX_BYTES:
        start = raw[:MAX_BYTES].decode("utf-8", "replace")
        return Query("", "", language_of(start), "too long")
    written = _visible(raw.decode("utf-8", "replace")).strip()
    if len(written) > MAX_CHARS:
        return Query("", "", language_of(written), "too long")
    text = normalise(written)
    if not any(character.isalnum() for character in text):
        return Query("", "", language_of(written), "empty")
    return Query(written, text, language_of(written))


def normalise(text: str) -> str:
    """Full-width, circled and compatibility forms folded (NFKC), lower case, single spaces."""
    return _SPACE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def _visible(text: str) -> str:
    """`text` without control and format characters, which PostgreSQL refuses (NUL)
    or which make a page show something else than was written (bidirectional overrides)."""
    return "".join(
        character
        for character in text
        if character in _KEPT_CONTROLS or unicodedata.category(character) not in ("Cc", "Cf", "Cs")
    )
