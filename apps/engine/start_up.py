"""What it takes until the first token can be computed, step by step."""

import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from resource import RUSAGE_SELF, getrusage
from time import perf_counter

import numpy as np

Progress = Callable[[str], None]

_PIECE = 32 << 20
_PAGE = mmap.PAGESIZE


@dataclass(frozen=True)
class Phase:
    """Wall time of one step and the page faults meanwhile; a major one waited for the disk."""

    name: str
    seconds: float
    minor_faults: int
    major_faults: int

    def __str__(self) -> str:
        faults = f"{self.minor_faults} page faults, {self.major_faults} from the disk"
        return f"{self.name} {self.seconds:.3f} s ({faults})"


@dataclass
class StartUp:
    """The phases so far, in order."""

    phases: list[Phase] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return sum(phase.seconds for phase in self.phases)

    def __str__(self) -> str:
        return "; ".join(map(str, self.phases))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Record what happens in the block."""
        begun, before = perf_counter(), getrusage(RUSAGE_SELF)
        yield
        after, ended = getrusage(RUSAGE_SELF), perf_counter()
        self.phases.append(
            Phase(
                name,
                ended - begun,
                after.ru_minflt - before.ru_minflt,
                after.ru_majflt - before.ru_majflt,
            )
        )


def read_ahead(mapping: mmap.mmap) -> None:
    """Ask the kernel to read the whole file while the caller goes on."""
    mapping.madvise(mmap.MADV_WILLNEED)


def touch(mapping: mmap.mmap, progress: Progress) -> None:
    """Bring every page of the file into memory; a line of progress for each 32 MB."""
    data = np.frombuffer(mapping, np.uint8)
    for start in range(0, len(data), _PIECE):
        data[start : start + _PIECE : _PAGE].max()
        progress(f"model in memory: {min(start + _PIECE, len(data)) / len(data):.0%}")
