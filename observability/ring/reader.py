"""Reading, also while others write and from what is left of a damaged file."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from observability.ring import layout

_TRIES = 3


@dataclass
class Contents:
    """`lines` oldest first. `unfinished` were begun and not ended (or not yet), `damaged` are
    places whose contents are not what was written; `problems` are whole sentences."""

    lines: list[layout.Line] = field(default_factory=list)
    unfinished: int = 0
    damaged: int = 0
    problems: list[str] = field(default_factory=list)


def read(path: Path) -> Contents:
    """The last LINES lines. Errors: OSError if the file cannot be read at all."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return _read(descriptor)
    finally:
        os.close(descriptor)


def _read(descriptor: int) -> Contents:
    found = Contents()
    size = os.fstat(descriptor).st_size
    head = os.pread(descriptor, layout.HEAD_BYTES, 0)
    ours = layout.is_head(head)
    if not ours:
        found.problems.append("this is not a ring of this format, or its head is damaged")
    if size < layout.FILE_BYTES:
        found.problems.append(f"the file is cut short: {size} of {layout.FILE_BYTES} bytes")
    empty = 0
    for slot in range(layout.SLOTS):
        line, is_empty = _place(descriptor, layout.offset(slot))
        if line is not None:
            found.lines.append(line)
        elif is_empty:
            empty += 1
        else:
            found.damaged += 1
    begun = int.from_bytes(head[layout.COUNTER : layout.COUNTER + 8], "little") if ours else 0
    missing = max(0, layout.FILE_BYTES - size) // layout.SLOT_BYTES
    found.unfinished = max(0, min(begun, layout.SLOTS) - (layout.SLOTS - empty) - missing)
    _order(found)
    if not ours and not found.lines:
        # What no line was found in has no damaged ones either.
        found.damaged = 0
    elif found.damaged:
        found.problems.append(f"{found.damaged} places are damaged")
    return found


def _place(descriptor: int, offset: int) -> tuple[layout.Line | None, bool]:
    """The line there; without one, whether the place is empty. It may be written just now."""
    data = b""
    for _ in range(_TRIES):
        data = os.pread(descriptor, layout.SLOT_BYTES, offset)
        if (line := layout.line_of(data)) or layout.is_empty(data.ljust(4, b"\0")):
            return line, line is None
    return None, False


def _order(found: Contents) -> None:
    """By number, the last LINES; a writer that was stopped for long may leave an old one."""
    found.lines.sort(key=lambda line: line.number)
    if found.lines:
        oldest = found.lines[-1].number - layout.SLOTS
        found.lines = [line for line in found.lines if line.number > oldest][-layout.LINES :]
