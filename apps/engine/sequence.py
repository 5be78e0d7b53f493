"""One generation: what was asked, what is computed, what came out."""

from dataclasses import dataclass, field

from apps.engine.kv import Cache
from apps.engine.sampler import Sampler


@dataclass
class Sequence:
    """`waiting` are the tokens that the cache does not hold yet; `made` what was sampled.

    `shared` counts the first prompt tokens, which other prompts begin with too.
    `finish` is "" while it runs, then "stop" (the model ended its turn) or "length".
    """

    waiting: list[int]
    shared: int
    limit: int
    cache: Cache
    sampler: Sampler
    made: list[int] = field(default_factory=list)
    finish: str = ""

    def take(self, count: int) -> list[int]:
        """The next `count` waiting tokens, now taken."""
        taken, self.waiting = self.waiting[:count], self.waiting[count:]
        return taken

    def add(self, token: int, ends: bool) -> None:
        """A token was sampled; `ends` if it ends the model's turn."""
        self.made.append(token)
        self.waiting.append(token)
        if ends:
            self.finish = "stop"
        elif len(self.made) == self.limit:
            self.finish = "length"
