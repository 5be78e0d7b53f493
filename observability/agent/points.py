"""Which bytes of which mapped files are worth a probe."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from observability.agent.elf import Elf
from observability.agent.process import MappedFile
from observability.bpf.source import Program
from observability.gpu.calls import CALLS, cookie

PROVIDER = "switchyard"
_OUR_POINTS = re.compile(r"_native\b.*\.so")
# By name, as a program of the same name runs there: a file may promise any.
_OURS = (
    "function_entry",
    "function_return",
    "object_create",
    "object_destroy",
    "object_chain",
    "token",
)
# Each is a descriptor of ours; a compiler makes one note a place.
_MOST = 64
# Also as a wheel renames it: libcudart-d0da41ae.so.11.0
_CUDA = re.compile(r"lib(cudart|cuda)\b.*\.so")
_PYTHON = re.compile(r"(libpython3[\d.]+\.so|python3[\d.]*$)")
# The first is where every wait ends, but a stripped interpreter does not name it.
_GIL = ("take_gil", "PyEval_RestoreThread")


@dataclass(frozen=True, slots=True)
class Point:
    """One place: which program runs at which byte, and what it is told; `label` is for people."""

    program: str
    offset: int
    label: str
    at_return: bool = False
    semaphore: int = 0
    cookie: int = 0


def interesting(file: MappedFile, programs: frozenset[Program]) -> bool:
    """Whether the file's name promises a point for one of `programs`."""
    name = PurePosixPath(file.path).name
    return bool(
        is_ours(file)
        or ("gpu" in programs and is_cuda(file.path))
        or ("waits" in programs and _PYTHON.match(name))
    )


def is_ours(file: MappedFile) -> bool:
    """Whether the file's name promises the probe points of `observability.native`."""
    return bool(_OUR_POINTS.search(PurePosixPath(file.path).name))


def is_cuda(path: str) -> bool:
    """Whether the file is libcudart or libcuda."""
    return bool(_CUDA.match(PurePosixPath(path).name))


def points(
    file: MappedFile, reachable: str, programs: frozenset[Program], *, links: bool
) -> list[Point]:
    """The points of a file that we reach as `reachable`, for links or for perf events.
    Errors: `TraceError`."""
    elf = Elf(reachable)
    if is_ours(file):
        return [
            Point(probe.name, probe.offset, probe.name, semaphore=probe.semaphore)
            for probe in elf.probes(PROVIDER)
            if probe.name in _OURS
        ][:_MOST]
    if is_cuda(file.path) and "gpu" in programs:
        return list(_gpu_points(elf, links=links))
    return list(_gil_points(elf)) if "waits" in programs else []


def _gpu_points(elf: Elf, *, links: bool) -> Iterator[Point]:
    for symbol, offset in elf.functions([call.symbol for call in CALLS]).items():
        program = "call" if links else symbol
        told = cookie(symbol)
        yield Point(f"enter_{program}", offset, symbol, cookie=told)
        yield Point(f"leave_{program}", offset, symbol, at_return=True, cookie=told)


def _gil_points(elf: Elf) -> Iterator[Point]:
    found = elf.functions(_GIL)
    for symbol in _GIL:
        if symbol in found:
            yield Point("gil_asked", found[symbol], symbol)
            yield Point("gil_taken", found[symbol], symbol, at_return=True)
            return
