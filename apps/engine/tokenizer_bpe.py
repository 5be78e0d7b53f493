"""Byte-level byte-pair encoding.

Text is cut into words by the pre-tokeniser that the metadata names; the UTF-8 bytes
of a word, each written as one printable character, are merged pair by pair, the pair
of the lowest rank first. Source: GPT-2's published encoder.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import regex

from apps.engine._merge import merge
from apps.engine.errors import BadArtefact
from apps.engine.gguf import Gguf
from apps.engine.tokenizer import Tokenizer, no_token
from apps.engine.vocabulary import BYTE, USER_DEFINED, Vocabulary

_CACHED_WORDS = 1 << 14
# Longer ones are rare, and a cache of them would hold whatever a client sends.
_CACHED_LENGTH = 32


@dataclass(frozen=True)
class _Words:
    """How text is cut; with `whole`, a word that is a token is not merged."""

    pattern: str
    whole: bool = False


_GPT2 = r"'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# As GPT-2, but each digit is a word, and the space before it a word of its own.
_DIGITS = r"\p{N}|'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"
_LLAMA3 = (
    r"(?i:'(?:s|t|re|ve|m|ll|d))|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PRE = {
    "gpt-2": _Words(_GPT2),
    "smollm": _Words(_DIGITS),
    "llama-bpe": _Words(_LLAMA3, whole=True),
}


def _byte_characters() -> list[str]:
    """The character of each byte 0-255: itself where printable, else one from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(spare)) for byte in range(256)]


_CHARACTERS = _byte_characters()
_BYTES = {character: byte for byte, character in enumerate(_CHARACTERS)}
_AS_LATIN1 = str.maketrans(_BYTES)
_IS_BYTE = np.zeros(1 << 16, bool)
_IS_BYTE[list(map(ord, _CHARACTERS))] = True


class ByteLevel(Tokenizer):
    """The kind "gpt2". Errors: `BadArtefact` for a vocabulary that is not byte-level BPE."""

    def __init__(self, file: Gguf) -> None:
        pre = file.get("tokenizer.ggml.pre", str)
        if pre not in PRE:
            raise BadArtefact(
                f"{file.path}: pre-tokeniser {pre!r} (tokenizer.ggml.pre) is not supported;"
                f" use a model with one of {', '.join(PRE)}"
            )
        vocabulary = Vocabulary(file)
        _check(vocabulary)
        super().__init__(vocabulary)
        self._ids = vocabulary.normal
        self._ranks = _ranks(file, vocabulary)
        self._words = regex.compile(PRE[pre].pattern)
        self._whole = PRE[pre].whole
        # A cache per tokeniser, so that it goes when the tokeniser goes.
        self._short = lru_cache(_CACHED_WORDS)(self._merge)

    def _encode(self, text: str) -> list[int]:
        return [
            token
            for word in self._words.findall(text)
            for token in (self._short if len(word) <= _CACHED_LENGTH else self._merge)(word)
        ]

    def _bytes(self, token: int) -> bytes:
        text = self._vocabulary.texts[token]
        if self._vocabulary.kinds[token] == USER_DEFINED:
            return text.encode()
        return text.translate(_AS_LATIN1).encode("latin-1")

    def _merge(self, word: str) -> tuple[int, ...]:
        symbols = [_CHARACTERS[byte] for byte in word.encode()]
        if self._whole and (token := self._ids.get("".join(symbols))) is not None:
            return (token,)
        try:
            return tuple(self._ids[symbol] for symbol in merge(symbols, self._ranks, " "))
        except KeyError as error:
            byte = _BYTES[error.args[0]]
            raise no_token(next(one for one in word if byte in one.encode())) from None


def _check(vocabulary: Vocabulary) -> None:
    for i in vocabulary.others:
        if vocabulary.kinds[i] == BYTE:
            raise BadArtefact(
                f"{vocabulary.path}: token {vocabulary.texts[i]!r} is of the type for single"
                " bytes, which byte-level BPE has not; fetch the file again from its source"
            )
    # A surrogate, half of any character beyond, is no byte's character either.
    units = np.frombuffer("".join(vocabulary.normal).encode("utf-16-le"), "<u2")
    if not _IS_BYTE[units].all():
        strange = next(text for text in vocabulary.normal if set(text) - _BYTES.keys())
        raise BadArtefact(
            f"{vocabulary.path}: token {strange!r} is not byte-level; use a byte-level BPE model"
        )


def _ranks(file: Gguf, vocabulary: Vocabulary) -> dict[str, int]:
    """The rank of each pair, under "left right"."""
    lines = file.get_list("tokenizer.ggml.merges", str)
    ranks = dict(zip(lines, range(len(lines)), strict=True))
    joined = "\n".join(lines)
    # Mostly the last tokens are what the merges give, in this order: one look for all.
    first = len(vocabulary.texts) - len(lines)
    last = "\n".join(vocabulary.texts[max(first, 0) :])
    in_order = max(vocabulary.others, default=-1) < first and joined.replace(" ", "") == last
    if in_order and joined.count(" ") == len(ranks) == len(lines):
        return ranks
    for rank, line in enumerate(lines):
        left, _, right = line.partition(" ")
        if not (left and right and left + right in vocabulary.normal and ranks[line] == rank):
            raise BadArtefact(
                f"{file.path}: merge {rank} ({line!r}) gives no token of the file or is there"
                " twice; fetch the file again from its source"
            )
    return ranks
