"""Stop strings found in a stream of text, wherever its pieces are cut.

Source: Aho and Corasick, Efficient string matching, 1975.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from apps.engine.errors import BadRequest

MAX_STRINGS = 64
MAX_LENGTH = 1024


@dataclass
class _State:
    """What of the stop strings the text ends with: the longest beginning of one."""

    depth: int
    next: dict[str, "_State"] = field(default_factory=dict)
    shorter: "_State | None" = None  # the next longest beginning that the text ends with
    hit: str | None = None  # the longest whole stop string that the text ends with


class Stops:
    """Gives text out until the first stop string is whole, and never a part of that one.

    First is the one whose last character comes first; of several that end there, the
    longest. What may still become a stop string is held back until it is decided.

    Errors: `BadRequest` for an empty string, a very long one, or very many.
    """

    def __init__(self, strings: Iterable[str]) -> None:
        wanted = dict.fromkeys(strings)
        if len(wanted) > MAX_STRINGS or not all(1 <= len(one) <= MAX_LENGTH for one in wanted):
            raise BadRequest(
                f"at most {MAX_STRINGS} stop strings of 1 to {MAX_LENGTH} characters are possible;"
                " leave out empty and very long ones"
            )
        self._root = _automaton(wanted)
        self._state = self._root
        self._held = ""
        self._hit: str | None = None

    def push(self, text: str) -> tuple[str, str | None]:
        """The text that may be given out now, and the stop string once it was found.

        After that nothing is given out any more.
        """
        if self._hit is not None:
            return "", self._hit
        held = self._held + text
        for place in range(len(self._held), len(held)):
            self._state = _step(self._state, held[place])
            self._hit = self._state.hit
            if self._hit is not None:
                self._held = ""
                return held[: place + 1 - len(self._hit)], self._hit
        out = len(held) - self._state.depth
        self._held = held[out:]
        return held[:out], None

    def finish(self) -> str:
        """The stream has ended: what was held back became no stop string."""
        held, self._held, self._state = self._held, "", self._root
        return held


def _automaton(strings: Iterable[str]) -> _State:
    root = _State(0)
    for string in strings:
        state = root
        for character in string:
            state = state.next.setdefault(character, _State(state.depth + 1))
        state.hit = string
    waiting = deque([root])
    while waiting:
        state = waiting.popleft()
        for character, longer in state.next.items():
            # Of a first character nothing shorter is left but the root.
            longer.shorter = _step(state.shorter, character) if state.shorter else root
            longer.hit = longer.hit or longer.shorter.hit
            waiting.append(longer)
    return root


def _step(state: _State, character: str) -> _State:
    while character not in state.next and state.shorter:
        state = state.shorter
    return state.next.get(character, state)
