"""Text to token ids and token ids to bytes, as a GGUF file's own metadata has it.

Special tokens are never looked for in text: `encode` of "<|im_end|>" gives the tokens
of these ten characters. Only `control` gives the special one.
"""

from abc import ABC, abstractmethod

from apps.engine.errors import BadArtefact, BadText
from apps.engine.vocabulary import CONTROL, UNKNOWN, UNUSED, Vocabulary

_NO_TEXT = (CONTROL, UNKNOWN, UNUSED)


class Tokenizer(ABC):
    """What both kinds of tokeniser offer."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    @property
    def size(self) -> int:
        """Number of tokens."""
        return len(self._vocabulary.texts)

    def control(self, text: str) -> int:
        """The id of a special token. Errors: `BadArtefact` if the vocabulary lacks it."""
        token = self._vocabulary.placed.get(text)
        if token is None:
            raise BadArtefact(f"the vocabulary has no control token {text!r}; use a chat model")
        return token

    def is_control(self, token: int) -> bool:
        """Whether the token stands for no text (end of turn and the like)."""
        return self._vocabulary.kinds[token] in _NO_TEXT

    def encode(self, text: str) -> list[int]:
        """Token ids of plain text.

        Errors: `BadText` for a lone surrogate, or for a character that the vocabulary cannot
        say (SmolLM2 lacks six control characters).
        """
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise BadText(
                f"character {error.start} of the text is a lone surrogate; send valid Unicode"
            ) from None
        return self._encode(text)

    @abstractmethod
    def _encode(self, text: str) -> list[int]: ...

    @abstractmethod
    def _bytes(self, token: int) -> bytes: ...

    # The last of the class: after it the name is no longer the type's.
    def bytes(self, token: int) -> bytes:
        """The bytes of a token, none for a control token; a part of a character is possible."""
        return b"" if self.is_control(token) else self._bytes(token)


def no_token(character: str) -> BadText:
    """The refusal of a character that no token can say."""
    return BadText(f"the model has no token for U+{ord(character):04X}; leave this character out")
