"""The chat template of SmolLM2 (ChatML): a system turn, a user turn, the assistant's to come.

Only the template places control tokens; texts are encoded as plain text.
"""

from dataclasses import dataclass

from apps.engine.tokenizer import Tokenizer

# What the model's own template says when there is no system turn.
DEFAULT_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"


@dataclass(frozen=True)
class Prompt:
    """Token ids; the first `shared` are the system turn, the same for every question."""

    ids: list[int]
    shared: int


class Chat:
    """Builds prompts. Errors: `BadArtefact` for a vocabulary without the template's tokens."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._encode = tokenizer.encode
        self._start = tokenizer.control("<|im_start|>")
        self._end = tokenizer.control("<|im_end|>")

    def prompt(self, user: str, system: str | None = None) -> Prompt:
        """The prompt of one question. Errors: `BadText` for text without a UTF-8 form."""
        first = self._turn("system", DEFAULT_SYSTEM if system is None else system)
        question = self._turn("user", user)
        return Prompt(
            [*first, *question, self._start, *self._encode("assistant\n")], shared=len(first)
        )

    def _turn(self, role: str, text: str) -> list[int]:
        return [self._start, *self._encode(f"{role}\n{text}"), self._end, *self._encode("\n")]
