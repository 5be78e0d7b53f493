"""A constraint on answers: every number in them is one of the allowed numbers.

A number is what the gateway takes for one: digits, with a comma before each three of
them and a point inside, after NFKC (so full-width digits count, and 8,250 is 8250.00).
The allowed forms are a trie; the answer's bytes walk through it across token borders,
and a token is allowed if its bytes can be walked. A number that has begun is finished
before the answer may end. Stricter than the gateway in one point: no digit may follow
a point or comma after a number, unless an allowed form goes on so.
"""

import re
import unicodedata
from codecs import utf_8_decode
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from apps.engine.errors import BadRequest
from apps.engine.tokenizer import Tokenizer

Mask = npt.NDArray[np.bool_]

_NUMBER = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?")
_SEPARATORS = ".,"
_LONGEST = 32
_NEVER = 1 << 14


@dataclass(eq=False)
class Node:
    """A place in the trie; `left` is the least number of bytes to the end of a form."""

    children: dict[str, "Node"] = field(default_factory=dict)
    left: int = _NEVER

    def grow(self, form: str) -> None:
        node = self
        for place, character in enumerate(form):
            node.left = min(node.left, len(form) - place)
            node = node.children.setdefault(character, Node())
        node.left = 0


@dataclass(frozen=True)
class State:
    """Where the answer stands.

    `number` is the place in a number that has begun; after it, `separator` may have come,
    and `after` is where that leads within a form. `rest` are the bytes of a character
    that is not complete.
    """

    number: Node | None = None
    separator: bool = False
    after: Node | None = None
    rest: bytes = b""

    @property
    def left(self) -> int:
        """Bytes that must come before the answer may end."""
        if self.number is None or self.number.left == 0:
            return 0
        return self.after.left if self.after else self.number.left


class Numbers:
    """The tokens of a vocabulary by what they can do to a number."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.bytes = [tokenizer.bytes(token) for token in range(tokenizer.size)]
        self.plain = np.array([_is_plain(data) for data in self.bytes])
        self.others = np.flatnonzero(~self.plain).tolist()

    def only(self, sources: Iterable[str]) -> "Only":
        """The constraint for one answer: the numbers in `sources`, in their usual forms."""
        return Only(self, forms(sources))


class Only:
    """What may follow in one answer. Errors: `BadRequest` if the vocabulary cannot write it."""

    def __init__(self, numbers: Numbers, allowed: Iterable[str]) -> None:
        self._numbers = numbers
        self._root = Node()
        for form in allowed:
            self._root.grow(form)
        self._state = State()
        self._needs: dict[State, npt.NDArray[np.int16]] = {}
        singles = {data for data in numbers.bytes if len(data) == 1}
        if missing := {c for form in allowed for c in form if c.encode() not in singles}:
            raise BadRequest(
                f"the vocabulary has no token for {sorted(missing)}; numbers cannot be limited"
            )

    def allowed(self, left: int) -> Mask:
        """[vocabulary] which tokens may come now, if at most `left` come in all."""
        if self._state not in self._needs:
            self._needs[self._state] = self._need(self._state)
        allowed: Mask = self._needs[self._state] < min(left, _NEVER)
        return allowed

    def push(self, token: int) -> None:
        """The token came; it was allowed."""
        state = self._walk(self._state, self._numbers.bytes[token])
        assert state is not None
        self._state = state

    def _need(self, state: State) -> npt.NDArray[np.int16]:
        """[vocabulary] the bytes that must follow each token; `_NEVER` if it may not come."""
        need = np.where(self._numbers.plain & (state.left == 0), 0, _NEVER).astype(np.int16)
        for token in self._numbers.others:
            if after := self._walk(state, self._numbers.bytes[token]):
                need[token] = after.left
        return need

    def _walk(self, state: State, data: bytes) -> State | None:
        """The state after more bytes; None if they are not allowed. No bytes end the answer."""
        if not data:
            return state if state.left == 0 else None
        text, rest = _characters(state.rest + data)
        now: State | None = State(state.number, state.separator, state.after)
        for character in text:
            now = self._step(now, character) if now else None
        if now is None or (rest and now.left):
            return None
        return State(now.number, now.separator, now.after, rest)

    def _step(self, state: State, character: str) -> State | None:
        if character.isdecimal():
            place = state.after if state.separator else state.number or self._root
            child = place.children.get(character) if place else None
            return State(child) if child else None
        if state.number is None:
            return state
        if character in _SEPARATORS and not state.separator:
            after = state.number.children.get(character)
            if after or state.number.left == 0:
                return State(state.number, True, after)
        return State() if state.number.left == 0 else None


def forms(sources: Iterable[str]) -> set[str]:
    """How the numbers in the sources may be written: as there, shorter, with and without commas.

    One of more than 32 characters is no fact of a customer's and is left out.
    """
    found: set[str] = set()
    for source in sources:
        for number in _NUMBER.findall(unicodedata.normalize("NFKC", source)):
            if len(number) > _LONGEST:
                continue
            whole, _, fraction = number.replace(",", "").partition(".")
            grouped = f"{int(whole):,}" if str(int(whole)) == whole else whole
            fractions = {fraction, fraction.rstrip("0")}
            found.add(number)
            found |= {
                f"{start}.{end}" if end else start
                for start in (whole, grouped)
                for end in fractions
            }
    return found


def _characters(data: bytes) -> tuple[str, bytes]:
    """Whole characters in NFKC, and the bytes of one that has only begun.

    Bytes of no character are left out, as the detokeniser leaves them out of the text:
    what stands around them is one number.
    """
    text, used = utf_8_decode(data, "ignore", False)
    return unicodedata.normalize("NFKC", text), data[used:]


def _is_plain(data: bytes) -> bool:
    """Whether a token only ends a number: it is text, without a digit, and complete."""
    try:
        text = unicodedata.normalize("NFKC", data.decode("utf-8"))
    except UnicodeDecodeError:
        return False
    return bool(text) and text[0] not in _SEPARATORS and not any(c.isdecimal() for c in text)
