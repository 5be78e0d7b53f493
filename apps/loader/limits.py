"""What one file may cost."""

from dataclasses import dataclass

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds for one file: its size in bytes, its pages, seconds of reading, the memory of
    the process that reads (address space, bytes), the characters of text it may yield, the bytes
    in which the reading process tells of it, the chunks it is cut into."""

    bytes: int = 64 * MIB
    pages: int = 2_000
    seconds: float = 120.0
    memory: int = 700 * MIB
    characters: int = 5_000_000
    answer: int = 24 * MIB
    chunks: int = 50_000


UPLOAD = Limits(
    bytes=50 * MIB, pages=200, seconds=60.0, characters=2_000_000, answer=12 * MIB, chunks=10_000
)
"""For a customer's upload."""
