"""A small file that says, while the process runs, what is to be traced.

One wish a line; empty lines and lines that begin with # say nothing:

    function apps.gateway.chat.*        # trace these functions only; several are added up
    type apps.gateway.stops.Running     # tell when one is created and destroyed
    chain apps.gateway.stops.Running    # say once what keeps the living ones alive
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

MAX_BYTES = 64 * 1024
MAX_WISHES = 256


class BadControl(ValueError):
    """A line that says nothing we know; one line, with what it may say."""


@dataclass(frozen=True)
class Wishes:
    """What the file says. Without a `function` line every function is wanted."""

    functions: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    chains: tuple[str, ...] = ()

    def wants(self, name: str) -> bool:
        """Whether the function of this full name is to be traced."""
        return not self.functions or any(fnmatchcase(name, glob) for glob in self.functions)


def read(text: str) -> Wishes:
    """Errors: BadControl."""
    found: dict[str, list[str]] = {"function": [], "type": [], "chain": []}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) != 2 or words[0] not in found:
            raise BadControl(
                f"line {number} is {line[:80]!r}; write `function GLOB`, `type NAME` or "
                "`chain NAME`"
            )
        found[words[0]].append(words[1])
    if sum(map(len, found.values())) > MAX_WISHES:
        raise BadControl(f"there are more than {MAX_WISHES} lines; use globs")
    return Wishes(tuple(found["function"]), tuple(found["type"]), tuple(found["chain"]))


class Control:
    """The file, read again when it has changed. A file that is not there says nothing."""

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        self._path = path
        self._warn = warn
        self._seen: tuple[int, ...] | None = None
        self.wishes = Wishes()

    def changed(self) -> bool:
        """Whether there are new wishes since the last call; a bad file keeps the old ones."""
        seen = self._identity()
        if seen == self._seen:
            return False
        self._seen = seen
        try:
            wishes = self._read() if seen else Wishes()
        except (OSError, ValueError) as error:
            self._warn(f"{self._path}: {error}; what it said before still holds")
            return False
        self.wishes = wishes
        return True

    def _identity(self) -> tuple[int, ...] | None:
        try:
            status = os.stat(self._path)
        except OSError:
            return None
        return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    def _read(self) -> Wishes:
        with self._path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise BadControl(f"it is longer than {MAX_BYTES} bytes; use globs")
        return read(data.decode())
