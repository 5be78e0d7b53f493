"""The text that BCC compiles: the shared header, then one file a program."""

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from observability.bpf.kernel import Ways
from observability.gpu.calls import source as gpu_calls

FOLDER = Path(__file__).parent
# BCC finds its kernel headers here: a few stubs, so a node needs none of its own.
HEADERS = FOLDER / "headers"

Program = Literal["python", "gpu", "waits"]


def text(programs: Iterable[Program], ways: Ways) -> str:
    """One C text with `programs`; `python` is always in, the others ask it who is current."""
    chosen = set(programs)
    parts = [_read("event.h"), _read("python.c")]
    if "gpu" in chosen:
        parts += [_read("gpu.c"), gpu_calls()]
    if "waits" in chosen:
        parts.append(_read("waits.c"))
    if ways.tracepoints:
        parts.append(_read("tasks.c"))
    return "\n".join(parts) + "\n"


def flags(programs: Iterable[Program], ways: Ways, pages: int) -> list[str]:
    """What the text is compiled with. `pages` is the ring's size."""
    waits = "waits" in set(programs)
    chosen = {
        f"BUFFER_PAGES={pages}": ways.ring_buffer,
        "PERF_BUFFER": not ways.ring_buffer,
        "LINKS": ways.links,
        "WAITS": waits,
        "PERF_SWITCHES": waits and not ways.tracepoints,
        "SWITCH_STATE": ways.switch_state,
        "GROUP_DEAD": ways.group_dead,
    }
    return [f"-D{name}" for name, wanted in chosen.items() if wanted]


def _read(name: str) -> str:
    return f'#line 1 "{name}"\n' + (FOLDER / name).read_text()
