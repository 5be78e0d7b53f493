"""The chat template of SmolLM2 (ChatML): a system turn, the turns so far, the assistant's to come.

Only the template places control tokens; texts are encoded as plain text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from apps.engine.errors import BadRequest
from apps.engine.tokenizer import Tokenizer

# What the model's own template says when there is no system turn.
DEFAULT_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


@dataclass(frozen=True)
class Turn:
    """What one side said."""

    role: Literal["user", "assistant"]
    text: str


class Chat:
    """Builds prompts. Errors: `BadArtefact` for a vocabulary without the template's tokens."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._encode = tokenizer.encode
        self._start = tokenizer.control("<|im_start|>")
        self._end = tokenizer.control("<|im_end|>")

    def prompt(self, said: str | Sequence[Turn], system: str | None = None) -> list[int]:
        """Token ids for one question, or for a conversation that ends with one.

        Errors: `BadText` for text without a UTF-8 form, `BadRequest` if it does not.
        """
        turns = [Turn("user", said)] if isinstance(said, str) else said
        if not turns or turns[-1].role != "user":
            raise BadRequest("a conversation ends with the user's turn; add one")
        ids = self._turn("system", DEFAULT_SYSTEM if system is None else system)
        for turn in turns:
            ids += (
                self._said(turn.text) if turn.role == "assistant" else self._turn("user", turn.text)
            )
        return [*ids, *self._opening()]

    def _turn(self, role: str, text: str) -> list[int]:
        return [self._start, *self._encode(f"{role}\n{text}"), self._end, *self._encode("\n")]

    def _said(self, text: str) -> list[int]:
        """The model's own turn, in the tokens that it came in: opening and text stay apart."""
        return [*self._opening(), *self._encode(text), self._end, *self._encode("\n")]

    def _opening(self) -> list[int]:
        return [self._start, *self._encode("assistant\n")]
