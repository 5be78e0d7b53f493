"""The picture's cells: how much of a resource a scenario used in a stretch of time."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from observability.agent.events import Record
from observability.gpu.memory import Memory
from observability.session.session import Request
from observability.view.resources import HELD, RESOURCES

BINS = 48
# (stretch, resource, scenario)
Cell = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Axis:
    """Time, cut into BINS stretches of `width_ns` from `start_ns` on."""

    start_ns: int
    width_ns: int

    def bin(self, t_ns: int) -> int:
        """The stretch that holds this time."""
        return min(max((t_ns - self.start_ns) // self.width_ns, 0), BINS - 1)

    def end_ns(self, number: int) -> int:
        """Where a stretch ends."""
        return self.start_ns + (number + 1) * self.width_ns


def axis(requests: Iterable[Request]) -> Axis:
    """From the first record to the last."""
    traced = [request for request in requests if request.records]
    start = min((request.start_ns for request in traced), default=0)
    end = max((request.end_ns for request in traced), default=0)
    return Axis(start, max(-(-(end - start) // BINS), 1))


def cells(requests: Sequence[Request], scenarios: Sequence[str], time: Axis) -> Counter[Cell]:
    """Every cell that is not empty. What lasts several stretches is shared among them evenly; of
    held memory a cell has what is held when its stretch ends."""
    number_of = {name: number for number, name in enumerate(scenarios)}
    found: Counter[Cell] = Counter()
    for request in requests:
        scenario = number_of[request.intent]
        for number, resource in enumerate(RESOURCES):
            for at, ns, amount in resource.uses(request):
                _share(found, amount, time.bin(at), time.bin(at + ns), number, scenario)
    found.update(_held(requests, number_of, time))
    return found


def _share(
    found: Counter[Cell], amount: int, first: int, last: int, resource: int, scenario: int
) -> None:
    each, rest = divmod(amount, last - first + 1)
    for number in range(first, last + 1):
        found[number, resource, scenario] += each
    found[last, resource, scenario] += rest


def _held(requests: Sequence[Request], number_of: dict[str, int], time: Axis) -> dict[Cell, int]:
    scenario_of = {request.id: number_of[request.intent] for request in requests}
    held = next(i for i, resource in enumerate(RESOURCES) if resource.key == HELD)
    waiting = sorted((r for request in requests for r in request.records if r["layer"] == "gpu"),
                     key=_time, reverse=True)  # fmt: skip
    memory = Memory()
    found: dict[Cell, int] = {}
    for number in range(BINS):
        while waiting and waiting[-1]["t_ns"] < time.end_ns(number):
            memory.add(waiting.pop())
        for id, size in memory.by_request():
            key = (number, held, scenario_of[id])
            found[key] = found.get(key, 0) + size
    return found


def _time(record: Record) -> int:
    return int(record["t_ns"])
