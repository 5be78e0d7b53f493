"""The tokeniser of the English model: BERT's words and pieces of words, all in lower case."""

import unicodedata
from collections.abc import Iterator
from pathlib import Path

from apps.embedder.errors import BadModel
from apps.embedder.model import Manifest

_LONGEST = 100
# What BERT counts as Chinese characters: each is a word of its own.
_IDEOGRAPHS = (
    *((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F)),
    *((0x2B740, 0x2B81F), (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)),
)


class WordPiece:
    """Cuts texts into pieces of the vocabulary; for any number of threads.

    A text is cut at white space and punctuation, accents are dropped; each word becomes the
    longest pieces from its beginning, or one unknown token. Source: Devlin et al., BERT, 2018.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        try:
            # Of bytes, because a piece may be what else ends a line in Unicode.
            pieces = [line.decode() for line in path.read_bytes().splitlines()]
        except (OSError, UnicodeDecodeError):
            raise BadModel(
                f"{path}: not a vocabulary; run `python -m apps.embedder.build --out {path.parent}`"
            ) from None
        self._ids = {piece: i for i, piece in enumerate(pieces)}
        self._unknown = manifest.unknown

    def ids(self, text: str) -> list[int]:
        """The tokens of `text`, without special ones."""
        return [token for word in _words(text) for token in self._pieces(word)]

    def _pieces(self, word: str) -> list[int]:
        found, begin = [], 0
        while begin < len(word):
            mark = "##" if begin else ""
            for end in range(min(len(word), begin + _LONGEST), begin, -1):
                if (token := self._ids.get(mark + word[begin:end])) is not None:
                    found.append(token)
                    begin = end
                    break
            else:
                return [self._unknown]
        return found if len(word) <= _LONGEST else [self._unknown]


def _words(text: str) -> Iterator[str]:
    for word in "".join(map(_spaced, text)).split():
        plain = unicodedata.normalize("NFD", word.lower())
        begin = 0
        letters = [character for character in plain if unicodedata.category(character) != "Mn"]
        for at, character in enumerate(letters):
            if _is_punctuation(character):
                if begin < at:
                    yield "".join(letters[begin:at])
                yield character
                begin = at + 1
        if begin < len(letters):
            yield "".join(letters[begin:])


def _spaced(character: str) -> str:
    """The character; a space for any white space, nothing for what nobody sees."""
    if character in " \t\n\r" or unicodedata.category(character) == "Zs":
        return " "
    if character in "\0\ufffd" or unicodedata.category(character).startswith("C"):
        return ""
    code = ord(character)
    if any(first <= code <= last for first, last in _IDEOGRAPHS):
        return f" {character} "
    return character


def _is_punctuation(character: str) -> bool:
    """Punctuation, and all of ASCII that is neither letter, digit nor space."""
    if character.isascii():
        return not character.isalnum()
    return unicodedata.category(character).startswith("P")
