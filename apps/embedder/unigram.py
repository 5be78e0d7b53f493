"""The tokeniser of the multilingual model: the likeliest pieces."""

import re
from pathlib import Path

import sentencepiece

from apps.embedder.errors import BadModel
from apps.embedder.model import Manifest

_SPACES = re.compile(" {2,}")


class Unigram:
    """Cuts texts into pieces of the vocabulary; for any number of threads.

    A text's characters are first replaced as the model's map says (width, ligatures, white
    space), runs of spaces become one, then the likeliest pieces are taken (SentencePiece
    Unigram). Each unknown character is one token. Half a surrogate pair becomes U+FFFD.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self._manifest = manifest
        self._characters = {ord(old): new for old, new in manifest.characters.items()}
        try:
            self._pieces = sentencepiece.SentencePieceProcessor(model_file=str(path))
        except (OSError, RuntimeError):
            raise BadModel(
                f"{path}: not a tokeniser; run `python -m apps.embedder.build --out {path.parent}`"
            ) from None

    def ids(self, text: str) -> list[int]:
        """The tokens of `text`, without special ones."""
        text = self._normal(text)
        ids: list[int] = self._pieces.encode(text)
        return self._spread(text, ids) if self._manifest.unknown in ids else ids

    def _normal(self, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return _SPACES.sub(" ", text.translate(self._characters))

    def _spread(self, text: str, ids: list[int]) -> list[int]:
        """SentencePiece joins neighbours that it does not know into one token."""
        unknown = self._manifest.unknown
        spread = []
        for token, piece in zip(ids, self._pieces.encode(text, out_type=str), strict=True):
            spread += [unknown] * len(piece) if token == unknown else [token]
        return spread
