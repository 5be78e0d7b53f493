"""How the file is laid out, and nothing else: bytes to lines and back.

A page of head, then SLOTS places of SLOT_BYTES. The head has the format, checked by a CRC,
and at COUNTER how many lines were begun: a writer takes its number there, and the number
says which place is its own. A place is a CRC, a length, the number, and the line; it is
emptied first and gets its CRC last, so it is whole or it is empty.
"""

import struct
import zlib
from dataclasses import dataclass

LINES = 1_000
# More than the lines promised: places that are being written are not readable.
SLOTS = 1_024
SLOT_BYTES = 2_048
HEAD_BYTES = 4_096
COUNTER = 64
FILE_BYTES = HEAD_BYTES + SLOTS * SLOT_BYTES

_MAGIC = b"SWITCHYD"
_VERSION = 1
_FORMAT = struct.Struct("<8sIII")
_CRC = struct.Struct("<I")
_PLACE = struct.Struct("<IQ")
LINE_AT = _CRC.size + _PLACE.size
LINE_BYTES = SLOT_BYTES - LINE_AT


@dataclass(frozen=True, slots=True)
class Line:
    """A line (UTF-8 JSON without its end) and which one it is, from 1 on."""

    number: int
    text: bytes


def head() -> bytes:
    """The first bytes of a file of this format."""
    form = _FORMAT.pack(_MAGIC, _VERSION, SLOT_BYTES, SLOTS)
    return form + _CRC.pack(zlib.crc32(form))


def is_head(data: bytes) -> bool:
    """Whether a file that begins so has this format."""
    return data.startswith(head())


def offset(number: int) -> int:
    """Where in the file the place of line `number` begins."""
    return HEAD_BYTES + number % SLOTS * SLOT_BYTES


def place(line: Line) -> tuple[bytes, bytes]:
    """The line's CRC, and what follows it in its place: length, number and text."""
    rest = _PLACE.pack(len(line.text), line.number) + line.text
    return _CRC.pack(_checksum(rest)), rest


def is_empty(data: bytes) -> bool:
    """Whether a place holds nothing yet, or a line that is not finished."""
    return data[: _CRC.size] == bytes(_CRC.size)


def line_of(data: bytes) -> Line | None:
    """The line in a place, or None if it is empty or not what was written."""
    if is_empty(data) or len(data) < LINE_AT:
        return None
    length, number = _PLACE.unpack_from(data, _CRC.size)
    end = LINE_AT + length
    if length > LINE_BYTES or end > len(data):
        return None
    right = _CRC.pack(_checksum(data[_CRC.size : end])) == data[: _CRC.size]
    return Line(number, data[LINE_AT:end]) if right else None


def _checksum(data: bytes) -> int:
    # Zero means that there is no line.
    return zlib.crc32(data) or 1
