"""Cuts running text into pieces for a budget of tokens, at sentences where it can. Pure."""

import re
from collections.abc import Callable, Iterator

_SENTENCE = re.compile(r"(?<=[。！？；])|(?<=[.!?;])\s+(?=\S)")
# Never within a number: a comma or point between digits is no place to cut.
_WEAKER = re.compile(r"(?<=[，、：])|(?<=[,:])\s+|\s+")


def pieces(text: str, fits: Callable[[str], bool]) -> Iterator[str]:
    """`text` whole if it fits, else its longest parts that do, cut between sentences, else
    between words, and only where one word alone is too long between characters."""
    yield from _cut(text, fits, (_SENTENCE, _WEAKER))


def _cut(
    text: str, fits: Callable[[str], bool], ways: tuple[re.Pattern[str], ...]
) -> Iterator[str]:
    if not text or fits(text):
        if text:
            yield text
        return
    if not ways:
        yield from _by_length(text, fits)
        return
    held, start = "", 0
    for end in [*(match.end() for match in ways[0].finditer(text)), len(text)]:
        part = text[start:end]
        start = end
        if fits(held + part):
            held += part
            continue
        if held:
            yield held
        held = ""
        if fits(part):
            held = part
        else:
            yield from _cut(part, fits, ways[1:])
    if held:
        yield held


def _by_length(text: str, fits: Callable[[str], bool]) -> Iterator[str]:
    """Halves until they fit; the cut moves out of a number, unless it is all one."""
    if len(text) < 2 or fits(text):
        yield text
        return
    middle = len(text) // 2
    cut = middle
    while cut > 1 and text[cut - 1].isdigit() and text[cut].isdigit():
        cut -= 1
    cut = cut if cut > 1 else middle
    yield from _by_length(text[:cut], fits)
    yield from _by_length(text[cut:], fits)
