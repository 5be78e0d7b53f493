"""The text that BCC compiles: the shared header, then one file a program."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from observability.gpu.calls import source as gpu_calls

FOLDER = Path(__file__).parent
# BCC finds its kernel headers here: a few stubs, so a node needs none of its own.
HEADERS = FOLDER / "headers"

Program = Literal["python", "gpu", "waits"]


def text(programs: Iterable[Program]) -> str:
    """One C text with `programs`; `python` is always in, the others ask it who is current."""
    chosen = set(programs)
    parts = [_read("event.h"), _read("python.c")]
    if "gpu" in chosen:
        parts += [_read("gpu.c"), gpu_calls()]
    if "waits" in chosen:
        parts.append(_read("waits.c"))
    return "\n".join(parts) + "\n"


def _read(name: str) -> str:
    return f'#line 1 "{name}"\n' + (FOLDER / name).read_text()
