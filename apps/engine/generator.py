"""Answers as a stream of pieces of text."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from apps.engine.chat import Chat
from apps.engine.detokenizer import BadByte, Detokenizer
from apps.engine.engine import Engine
from apps.engine.sampler import Sampler
from apps.engine.sequence import Sequence

NO_TOKEN = -1


@dataclass(frozen=True)
class Piece:
    """What one step gave.

    `text` has whole characters only and may be empty: in the middle of a character, for
    the token that ends the answer, and, with `token` = `NO_TOKEN`, while a long prompt
    is read. `finish` is "" until the last piece: "stop", "length" or "cancelled".
    `bad` are bytes that the model made and that are no text.
    """

    text: str
    token: int
    finish: str
    bad: tuple[BadByte, ...] = ()


class Generator:
    """Streams of one engine; several may be open, each `next` is one step of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._chat = Chat(engine.model.tokenizer)

    def stream(
        self,
        prompt: str,
        max_tokens: int,
        stopped: Callable[[], bool],
        system: str | None = None,
        sampler: Sampler | None = None,
    ) -> Iterator[Piece]:
        """The answer to the user's turn `prompt`; `stopped` is asked before each step.

        Errors, here and not at the first `next`: `PromptTooLong`, `BadRequest`, `BadText`.
        """
        question = self._chat.prompt(prompt, system)
        sequence = self._engine.sequence(
            question.ids, max_tokens, shared=question.shared, sampler=sampler
        )
        return self._run(sequence, stopped)

    def _run(self, sequence: Sequence, stopped: Callable[[], bool]) -> Iterator[Piece]:
        detokenizer = Detokenizer()
        known = 0
        while not sequence.finish:
            if stopped():
                yield Piece("", NO_TOKEN, "cancelled")
                return
            token = self._engine.step(sequence)
            if token is None:
                yield Piece("", NO_TOKEN, "")
                continue
            text = detokenizer.push(token, self._engine.model.tokenizer.bytes(token))
            if sequence.finish:
                text += detokenizer.finish()
            yield Piece(text, token, sequence.finish, tuple(detokenizer.bad[known:]))
            known = len(detokenizer.bad)
