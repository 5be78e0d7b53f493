"""SentencePiece's byte-pair kind: pieces with scores, `▁` for a space, bytes for the rest.

Text, its spaces written as `▁`, is one word; neighbours join whose piece has the best
score. A character without a piece becomes its UTF-8 bytes. Source: Kudo and
Richardson, SentencePiece, 2018. U+2581 in a text therefore reads back as a space.
"""

import re

import numpy as np

from apps.engine._merge import merge
from apps.engine.errors import BadArtefact
from apps.engine.gguf import Gguf
from apps.engine.tokenizer import Tokenizer, no_token
from apps.engine.vocabulary import BYTE, Vocabulary

_SPACE = "▁"
_BYTE = re.compile(r"<0x([0-9A-F]{2})>")


class SentencePiece(Tokenizer):
    """The kind "llama". Errors: `BadArtefact` for a vocabulary or a normaliser of another kind."""

    def __init__(self, file: Gguf) -> None:
        vocabulary = Vocabulary(file)
        super().__init__(vocabulary)
        if "tokenizer.ggml.precompiled_charsmap" in file.metadata or file.get(
            "tokenizer.ggml.remove_extra_whitespaces", bool, False
        ):
            raise BadArtefact(
                f"{file.path}: the tokeniser changes the text before it cuts it"
                " (tokenizer.ggml.precompiled_charsmap, remove_extra_whitespaces);"
                " use a model whose tokeniser keeps it"
            )
        self._prefix = _SPACE if file.get("tokenizer.ggml.add_space_prefix", bool, True) else ""
        self._ids = vocabulary.normal
        self._ranks = _ranks(file, vocabulary)
        self._byte_ids = _byte_ids(vocabulary)
        self._byte_of = {token: byte for byte, token in self._byte_ids.items()}

    def _encode(self, text: str) -> list[int]:
        if not text:
            return []
        symbols = list(self._prefix + text.replace(" ", _SPACE))
        return [
            token for symbol in merge(symbols, self._ranks, "") for token in self._tokens(symbol)
        ]

    def _bytes(self, token: int) -> bytes:
        if token in self._byte_of:
            return bytes([self._byte_of[token]])
        return self._vocabulary.texts[token].replace(_SPACE, " ").encode()

    def _tokens(self, symbol: str) -> list[int]:
        if symbol in self._ids:
            return [self._ids[symbol]]
        try:
            return [self._byte_ids[byte] for byte in symbol.encode()]
        except KeyError:
            raise no_token(symbol) from None


def _ranks(file: Gguf, vocabulary: Vocabulary) -> dict[str, float]:
    """The rank of each piece, the best score the lowest."""
    scores = file.get_numbers("tokenizer.ggml.scores", "float")
    if len(scores) != len(vocabulary.texts) or np.isnan(scores).any():
        raise BadArtefact(
            f"{file.path}: {len(scores)} scores (tokenizer.ggml.scores) for"
            f" {len(vocabulary.texts)} tokens, or one that is not a number;"
            " fetch the file again from its source"
        )
    ranks = (-scores).tolist()
    return {text: ranks[token] for text, token in vocabulary.normal.items()}


def _byte_ids(vocabulary: Vocabulary) -> dict[int, int]:
    """The token of each byte, as far as there are any."""
    ids = {}
    for i in vocabulary.others:
        if vocabulary.kinds[i] == BYTE:
            found = _BYTE.fullmatch(vocabulary.texts[i])
            if not found:
                raise BadArtefact(
                    f"{vocabulary.path}: token {vocabulary.texts[i]!r} is of the type for single"
                    " bytes but no <0x00> to <0xFF>; fetch the file again from its source"
                )
            ids[int(found[1], 16)] = i
    return ids
