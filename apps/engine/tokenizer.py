"""Byte-level byte-pair encoding from a GGUF file's own metadata.

Text is cut into pieces by the pre-tokeniser that the metadata names; the UTF-8
bytes of a piece, each written as one printable character, are merged pair by
pair, the pair of the lowest rank first. Source: GPT-2's published encoder.

Special (control) tokens are never looked for in text: `encode` of "<|im_end|>"
gives the tokens of these ten characters.
"""

from functools import lru_cache

import regex

from apps.engine._merge import Ranks, merge
from apps.engine.errors import BadArtefact, BadText
from apps.engine.gguf import Gguf

_NORMAL, _CONTROL = 1, 3
_CACHED_PIECES = 1 << 14

_WORDS = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
# Cut at the first kind, then each part by the second; None: not cut before.
_FAMILIES = {"smollm": r"\p{N}", "gpt-2": None}


def _byte_characters() -> list[str]:
    """The character of each byte 0-255: itself where printable, else one from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    spare = iter(range(0x100, 0x200))
    return [chr(byte if byte in printable else next(spare)) for byte in range(256)]


_CHARACTERS = _byte_characters()
_BYTES = {character: byte for byte, character in enumerate(_CHARACTERS)}


class Tokenizer:
    """Text to token ids and token ids to bytes.

    Errors: `BadArtefact` for a vocabulary that is not byte-level BPE.
    """

    def __init__(self, file: Gguf) -> None:
        kind = file.get("tokenizer.ggml.model", str)
        family = file.get("tokenizer.ggml.pre", str, "gpt-2")
        if kind != "gpt2" or family not in _FAMILIES:
            raise BadArtefact(
                f"{file.path}: tokeniser {kind!r} with pre-tokeniser {family!r};"
                f" use 'gpt2' with one of {sorted(_FAMILIES)}"
            )
        texts = file.get_list("tokenizer.ggml.tokens", str)
        types = file.get_list("tokenizer.ggml.token_type", int)
        if len(texts) != len(types):
            raise BadArtefact(f"{file.path}: {len(texts)} tokens but {len(types)} token types")
        if others := set(types) - {_NORMAL, _CONTROL}:
            raise BadArtefact(
                f"{file.path}: token types {sorted(others)}; use a model with only normal and"
                " control tokens"
            )
        self._bytes = [
            _to_bytes(file, text) if kind == _NORMAL else None
            for text, kind in zip(texts, types, strict=True)
        ]
        self._ids = {text: i for i, text in enumerate(texts) if types[i] == _NORMAL}
        self._control = {text: i for i, text in enumerate(texts) if types[i] == _CONTROL}
        self._ranks = _ranks(file, self._ids)
        self._single = _FAMILIES[family]
        # A cache per tokeniser, so that it goes when the tokeniser goes.
        self._piece = lru_cache(_CACHED_PIECES)(self._merge)

    @property
    def size(self) -> int:
        """Number of tokens."""
        return len(self._bytes)

    def control(self, text: str) -> int:
        """The id of a control token. Errors: `BadArtefact` if the vocabulary lacks it."""
        if text not in self._control:
            raise BadArtefact(f"the vocabulary has no control token {text!r}; use a chat model")
        return self._control[text]

    def is_control(self, token: int) -> bool:
        """Whether the token stands for no text (end of turn and the like)."""
        return self._bytes[token] is None

    def bytes(self, token: int) -> bytes:
        """The bytes of a token, none for a control token; a part of a character is possible."""
        return self._bytes[token] or b""

    def encode(self, text: str) -> list[int]:
        """Token ids of plain text.

        Errors: `BadText` for a lone surrogate, or for a byte that the vocabulary lacks
        (SmolLM2's lacks six control characters).
        """
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise BadText(
                f"character {error.start} of the text is a lone surrogate; send valid Unicode"
            ) from None
        parts = regex.split(f"({self._single})", text) if self._single else [text]
        pieces = (piece for part in parts for piece in regex.findall(_WORDS, part))
        return [token for piece in pieces for token in self._piece(piece)]

    def _merge(self, piece: str) -> tuple[int, ...]:
        symbols = merge([_CHARACTERS[byte] for byte in piece.encode()], self._ranks)
        try:
            return tuple(self._ids[symbol] for symbol in symbols)
        except KeyError as error:
            byte = _BYTES[error.args[0]]
            character = next(one for one in piece if byte in one.encode())
            raise BadText(
                f"the model has no token for U+{ord(character):04X}; leave this character out"
            ) from None


def _to_bytes(file: Gguf, text: str) -> bytes:
    try:
        return bytes(_BYTES[character] for character in text)
    except KeyError:
        raise BadArtefact(
            f"{file.path}: token {text!r} is not byte-level; use a byte-level BPE model"
        ) from None


def _ranks(file: Gguf, ids: dict[str, int]) -> Ranks:
    ranks: Ranks = {}
    for rank, line in enumerate(file.get_list("tokenizer.ggml.merges", str)):
        left, _, right = line.partition(" ")
        if left + right not in ids:
            raise BadArtefact(f"{file.path}: merge {rank} ({line!r}) gives no token of the file")
        ranks[left, right] = rank
    return ranks
