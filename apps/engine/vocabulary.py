"""The tokens of a GGUF file: their texts and what kind each is."""

import numpy as np

from apps.engine.errors import BadArtefact
from apps.engine.gguf import Gguf

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)


class Vocabulary:
    """Texts and kinds by id. Text is only ever turned into normal tokens (and bytes).

    Errors: `BadArtefact` for lists that do not fit together and for texts that are there twice.
    """

    def __init__(self, file: Gguf) -> None:
        self.path = file.path
        self.texts = file.get_list("tokenizer.ggml.tokens", str)
        kinds = file.get_numbers("tokenizer.ggml.token_type", "int")
        if len(self.texts) != len(kinds):
            raise BadArtefact(
                f"{self.path}: {len(self.texts)} tokens but {len(kinds)} token types;"
                " fetch the file again from its source"
            )
        self.others: list[int] = np.flatnonzero(kinds != NORMAL).tolist()
        for i in self.others:
            if not NORMAL < kinds[i] <= BYTE:
                raise BadArtefact(
                    f"{self.path}: token {self.texts[i]!r} is of type {kinds[i]}, possible"
                    f" are {NORMAL} to {BYTE}; fetch the file again from its source"
                )
        self.kinds = kinds.astype(np.uint8).tobytes()
        self.normal: dict[str, int] = dict(zip(self.texts, range(len(self.texts)), strict=True))
        if len(self.normal) != len(self.texts):
            twice = next(text for i, text in enumerate(self.texts) if self.normal[text] != i)
            raise BadArtefact(
                f"{self.path}: token {twice!r} is there twice; use a model with distinct tokens"
            )
        for i in self.others:
            del self.normal[self.texts[i]]
        self.placed: dict[str, int] = {
            self.texts[i]: i for i in self.others if self.kinds[i] in (CONTROL, USER_DEFINED)
        }
