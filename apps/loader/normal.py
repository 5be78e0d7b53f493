"""Text as it is searched: one form for what looks alike. Pure."""

import re
import unicodedata

# Minus signs and dashes that are written for a minus before a number.
_MINUS = re.compile(r"[−‐‑–—](?=\d)(?<!\d.)")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff\0]")
_UNREADABLE = re.compile("[\ufffd\ue000-\uf8ff]")
_SPACES = re.compile(r"\s+")


def searchable(text: str) -> str:
    """`text` with ligatures, full-width and compatibility forms resolved (NFKC), invisible
    characters dropped and white space single. The original is kept beside it for citing."""
    text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text))
    return _SPACES.sub(" ", _MINUS.sub("-", text)).strip()


def readable_share(text: str) -> float:
    """The part of the characters that have a Unicode value: no U+FFFD, none for private use."""
    if not text:
        return 1.0
    return 1 - len(_UNREADABLE.findall(text)) / len(text)
