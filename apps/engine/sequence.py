"""One generation: what was asked, what is computed, what came out."""

from dataclasses import dataclass, field
from math import inf
from typing import Protocol

from apps.engine.pool import Table
from apps.engine.sampler import Sampler

Served = tuple[str, int, str]  # request, tokens, "prefill" or "decode"


class Output(Protocol):
    """Where the tokens of one sequence go.

    One thread at a time calls it: the engine's, or whoever ends the sequence.
    """

    @property
    def full(self) -> bool:
        """Whether the reader has to catch up before another token is computed."""

    def begun(self, found: int) -> None:
        """Its prompt is read from now on, but for `found` tokens that are computed already."""

    def token(self, token: int, finish: str, step: int, table: list[Served]) -> str:
        """Take a token of a step that served `table`; gives `finish`, or "stop" of its own."""

    def end(self, finish: str) -> None:
        """No token comes any more."""

    def fail(self, error: Exception) -> None:
        """The sequence cannot go on."""


@dataclass(eq=False)
class Sequence:
    """`limit` tokens at most are made; `deadline` is on the scheduler's clock.

    `finish` is "" while it runs, then "stop" (the model ended its turn, or a stop
    string came), "length", "cancelled", "deadline" or "error". `served` is the last
    step that computed something for it; `patience` is when its reader will have been slow
    for too long.
    """

    request: str
    session: str
    prompt: list[int]
    limit: int
    deadline: float
    sampler: Sampler
    output: Output
    made: list[int] = field(default_factory=list)
    table: Table | None = None
    finish: str = ""
    served: int = 0
    patience: float = inf

    @property
    def tokens(self) -> list[int]:
        """All so far; the last one that was made is not computed yet."""
        return self.prompt + self.made if self.made else self.prompt

    @property
    def unread(self) -> int:
        """How many of them are to be computed before the next can be chosen."""
        computed = self.table.length if self.table else 0
        return len(self.prompt) + len(self.made) - computed

    @property
    def writes(self) -> bool:
        """Whether its next token comes of its last one alone."""
        return bool(self.made) and self.unread == 1

    def waiting(self, length: int) -> list[int]:
        """The tokens after the first `length`, which are computed already."""
        if length < len(self.prompt):
            return self.prompt[length:] + self.made
        return self.made[length - len(self.prompt) :]

    @property
    def positions(self) -> int:
        """The most that it can come to: the last token is made, but never read."""
        return len(self.prompt) + self.limit - 1

    def look(self, now: float, patience_s: float) -> None:
        """Take note of whether its reader is slow."""
        self.patience = min(self.patience, now + patience_s) if self.output.full else inf

    def add(self, token: int, ends: bool, table: list[Served]) -> None:
        """A token was chosen in the step `served`; `ends` if it ends the model's turn."""
        self.made.append(token)
        if ends:
            self.finish = "stop"
        elif len(self.made) == self.limit:
            self.finish = "length"
        self.finish = self.output.token(token, self.finish, self.served, table)
