"""Regular expressions that are searched in linear time: a commit may write them.

Python's own engine backtracks, with the interpreter's lock held: one pattern of
ten characters could stop the controller. RE2 does without backtracking; what
cannot be had without it (look-around, back-references) it refuses.
"""

from __future__ import annotations

import re2

MAX_CHARACTERS = 500
_MAX_MEMORY = 128 << 10
"""Bytes for a compiled pattern and its search: counts inside counts do not get larger."""


class BadPattern(ValueError):
    """A pattern that cannot be used; one line with the pattern and the reason."""


class Pattern:
    """One expression in RE2's syntax. Raises BadPattern."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise BadPattern(f"a pattern of {len(text)} characters; give at most {MAX_CHARACTERS}")
        options = re2.Options()
        options.max_mem = _MAX_MEMORY
        options.log_errors = False
        self.text = text
        try:
            self._regexp = re2.compile(_bytes(text), options)
        except re2.error as error:
            reason = error.args[0].decode("utf8", "replace")
            raise BadPattern(
                f"{text!r} is not a regular expression of RE2 ({reason}): mend it; it takes no "
                "look-around, no back-references and no large counts"
            ) from None

    def found_in(self, text: str) -> bool:
        """Whether some part of `text` matches."""
        return self._regexp.search(_bytes(text)) is not None

    def matches(self, text: str) -> bool:
        """Whether the whole of `text` matches."""
        return self._regexp.fullmatch(_bytes(text)) is not None

    def all_in(self, text: str) -> list[str]:
        """Every part of `text` that matches, from left to right."""
        found = self._regexp.finditer(_bytes(text))
        return [match.group().decode("utf8", "replace") for match in found]

    def __repr__(self) -> str:
        return f"Pattern({self.text!r})"


def _bytes(text: str) -> bytes:
    # A reply may hold half a character ("\ud800" in JSON), which UTF-8 does not know.
    return text.encode("utf8", "replace")
