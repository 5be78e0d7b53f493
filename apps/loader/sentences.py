"""Cuts running text into pieces for a budget of tokens, at sentences where it can. Pure."""

import re
from collections.abc import Callable, Iterator

_SENTENCE = re.compile(r"(?<=[。！？；])|(?<=[.!?;])\s+(?=\S)")
# Never within a number: what stands between two digits is no place to cut.
_WEAKER = re.compile(
    r"(?<=[，、：])(?!(?<=\d.)\d)|(?<=[,:])\s+|(?<![\d\s])\s+|(?<!\s)\s+(?![\d\s])"
)
_ATOM = re.compile(
    r"[-+−(（¥$€£]*(?:\d{1,3}(?: \d{3}){1,4}(?!\d)|\d)(?:[\d,.，．]*\d)?[)）%％‰]*|.", re.DOTALL
)


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
        yield from _halves(_ATOM.findall(text), fits)
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


def _halves(atoms: list[str], fits: Callable[[str], bool]) -> Iterator[str]:
    """Halves of what has no place to cut, until they fit; a number stays whole even if it alone
    does not."""
    text = "".join(atoms)
    if len(atoms) < 2 or fits(text):
        yield text
        return
    middle = len(atoms) // 2
    yield from _halves(atoms[:middle], fits)
    yield from _halves(atoms[middle:], fits)
