"""What a recording says of the node's GPUs, in lines for people."""

from collections import Counter
from collections.abc import Iterable, Iterator

from observability.agent.events import Record
from observability.export.text import size
from observability.gpu.rules import Finding
from observability.session.session import Session

# More holders than these say nothing at a glance.
_HOLDERS = 5


def notes(session: Session) -> list[str]:
    """Findings with their evidence, GPUs that are lost, contexts of processes that are no more,
    and who holds memory."""
    readings: dict[int, list[Record]] = {}
    for record in session.system:
        if record["layer"] == "nvml":
            readings.setdefault(record["gpu"], []).append(record)
    lines = [line for gpu in sorted(readings) for line in _gpu(gpu, readings[gpu])]
    return [*lines, *_held(session.growth()[:_HOLDERS])]


def _gpu(gpu: int, readings: list[Record]) -> Iterator[str]:
    fitting: Counter[str] = Counter()
    last: dict[str, Finding] = {}
    for record in readings:
        for found in record["findings"]:
            fitting[found["name"]] += 1
            last[found["name"]] = Finding(**found)
    for name, times in fitting.most_common():
        yield f"GPU {gpu}: in {times} of {len(readings)} readings {last[name]}"
    if not readings[-1]["fields"].get("name"):
        why = ", ".join(sorted(set(readings[-1]["problems"].values())))
        yield f"GPU {gpu}: tells nothing: {why}"
    for pid, held in (readings[-1]["ghosts"] or {}).items():
        what = "memory of unknown size" if held is None else size(int(held))
        yield f"GPU {gpu}: {what} held by process {pid}, which is no more"


def _held(holders: Iterable[tuple[str, int, int]]) -> Iterator[str]:
    for function, halfway, held in holders:
        yield (
            f"GPU memory: {size(held)} held by {function or 'no request function'},"
            f" {size(halfway)} halfway"
        )
