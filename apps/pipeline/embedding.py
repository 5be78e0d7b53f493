"""Several requests for vectors, computed together and answered apart."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from apps.embedder import Embedded, Kind, is_empty

KINDS: tuple[Kind, ...] = ("query", "passage")


class Embed(Protocol):
    """`Embedder.embed`."""

    def __call__(self, texts: Sequence[str], kind: Kind) -> Embedded: ...


@dataclass(frozen=True)
class Wish:
    """One request: texts of one kind."""

    texts: tuple[str, ...]
    kind: str

    @property
    def problem(self) -> str:
        """ "" if it can be computed, else what is wrong with it."""
        if self.kind not in KINDS:
            return f"kind is {self.kind[:20]!r}; give {' or '.join(KINDS)}"
        if any(map(is_empty, self.texts)):
            return "a text is empty; leave it out"
        return ""


def grant(wishes: Sequence[Wish], embed: Embed) -> list[Embedded | str]:
    """For each wish its vectors, or one line that says why there are none.

    Wishes of one kind are one call, which spreads their texts over the threads.
    """
    granted: list[Embedded | str] = [wish.problem for wish in wishes]
    for kind in KINDS:
        mine = [at for at, wish in enumerate(wishes) if wish.kind == kind and not wish.problem]
        if mine:
            whole = embed([text for at in mine for text in wishes[at].texts], kind)
            parts = _parts(whole, [len(wishes[at].texts) for at in mine])
            for at, part in zip(mine, parts, strict=True):
                granted[at] = part
    return granted


def _parts(whole: Embedded, sizes: list[int]) -> Iterator[Embedded]:
    begun = 0
    for size in sizes:
        mine = slice(begun, begun + size)
        yield Embedded(whole.vectors[mine], whole.tokens[mine], whole.cut[mine])
        begun += size
