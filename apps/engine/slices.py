"""What is asked of the core at once: parts of several sequences, cut and packed into steps."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

ROWS = 256  # tokens that are computed together; a longer prompt is cut


@dataclass(frozen=True)
class Slice:
    """Part of one sequence to compute in this step.

    `pages` are page numbers, in order; they cover `start` + len(`tokens`) positions, and
    hold those before `start` already.
    """

    tokens: Sequence[int]
    start: int
    pages: Sequence[int]
    logits: Literal["none", "last", "every"] = "last"

    @property
    def wanted(self) -> range:
        """Which of `tokens` have a row in the result."""
        count = len(self.tokens)
        return range({"none": count, "last": count - 1, "every": 0}[self.logits], count)


def steps(work: Sequence[Slice]) -> Iterator[list[Slice]]:
    """The slices in steps of at most `ROWS` tokens; a slice that does not fit is cut."""
    step: list[Slice] = []
    room = ROWS
    for whole in work:
        rest = whole
        while len(rest.tokens) > room:
            head = rest.logits if rest.logits == "every" else "none"
            step.append(replace(rest, tokens=rest.tokens[:room], logits=head))
            yield step
            rest = replace(rest, tokens=rest.tokens[room:], start=rest.start + room)
            step, room = [], ROWS
        step.append(rest)
        room -= len(rest.tokens)
        if not room:
            yield step
            step, room = [], ROWS
    if step:
        yield step


def packed(pieces: Sequence[Slice]) -> tuple[npt.NDArray[np.int32], int]:
    """The step as the compiled side reads it (native/module.c), and its rows of logits."""
    tokens: list[int] = []
    positions: list[int] = []
    tables: list[int] = []
    wanted: list[int] = []
    pages: list[int] = []
    for piece in pieces:
        count = len(piece.tokens)
        wanted += [len(tokens) + row for row in piece.wanted]
        tokens += piece.tokens
        positions += range(piece.start, piece.start + count)
        tables += [len(pages)] * count
        pages += piece.pages
    step = [len(tokens), len(wanted), len(pages), *tokens, *positions, *tables, *wanted, *pages]
    return np.array(step, np.int32), len(wanted)
