"""Text to token ids, as the model was trained on them."""

from pathlib import Path
from typing import Protocol

from apps.embedder.errors import BadModel
from apps.embedder.model import TOKENIZER, Manifest
from apps.embedder.unigram import Unigram
from apps.embedder.wordpiece import WordPiece


class Tokenizer(Protocol):
    """For any number of threads."""

    def ids(self, text: str) -> list[int]:
        """The tokens of `text`, without special ones."""


def open_tokenizer(folder: Path, manifest: Manifest) -> Tokenizer:
    """The tokeniser of a model's folder. Errors: `BadModel`."""
    path = folder / TOKENIZER
    match manifest.tokenizer:
        case "unigram":
            return Unigram(path, manifest)
        case "wordpiece":
            return WordPiece(path, manifest)
    raise BadModel(f"{folder}: no tokeniser is called {manifest.tokenizer!r}; build it again")
