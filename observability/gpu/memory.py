"""Who holds GPU memory: every successful allocation that nothing has freed."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from observability.agent.events import Record

_GIVES = {"alloc": "address", "create": "handle"}
_TAKES = {"free": "address", "release": "handle"}
_MOST_RESULTS = 1000


@dataclass(frozen=True, slots=True)
class Allocation:
    """Memory that is held: by which function of which request, since when."""

    pid: int
    request: str
    function: str
    call: str
    bytes: int
    t_ns: int


class Memory:
    """Outstanding memory, kept by records of the layer gpu in the order of time.

    A call within another call of the libraries is the same memory and not added twice. `failed`
    counts refused calls by (call, result); `unknown_frees` those of memory from before the
    recording. Of more than `most` allocations the oldest are `forgotten`."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self.forgotten = 0
        self._held: dict[tuple[int, str, int], Allocation] = {}
        self.failed: Counter[tuple[str, int]] = Counter()
        self.unknown_frees = 0
        self.bytes = 0
        self.peak = 0

    def add(self, record: Record) -> None:
        """Take a record; other layers than gpu and process change nothing."""
        if record["layer"] == "process" and record["kind"] == "gone":
            self._gone(record["pid"])
        if record["layer"] != "gpu" or record["nested"]:
            return
        if record["result"]:
            what = record["call"], record["result"]
            # A result is any number that a process likes.
            known = what in self.failed or len(self.failed) < _MOST_RESULTS
            self.failed[what if known else (record["call"], -1)] += 1
        elif record["kind"] in _GIVES:
            self._give(record)
        elif record["kind"] in _TAKES:
            self._take(record)

    def held(self) -> list[Allocation]:
        """What is held now, the oldest first."""
        return list(self._held.values())

    def by_holder(self) -> list[tuple[str, int]]:
        """(function, bytes), the largest first."""
        return self._sums("function")

    def by_request(self) -> list[tuple[str, int]]:
        """(request, bytes), the largest first."""
        return self._sums("request")

    def _sums(self, what: str) -> list[tuple[str, int]]:
        sums: Counter[str] = Counter()
        for allocation in self._held.values():
            sums[getattr(allocation, what)] += allocation.bytes
        return sums.most_common()

    def _give(self, record: Record) -> None:
        key = (record["pid"], _GIVES[record["kind"]], record["address"])
        before = self._held.pop(key, None)
        # The same address twice: its free was lost.
        self.bytes -= before.bytes if before else 0
        self._held[key] = Allocation(
            record["pid"], record["request"], record["function"], record["call"],
            record["bytes"], record["t_ns"],
        )  # fmt: skip
        self.bytes += record["bytes"]
        self.peak = max(self.peak, self.bytes)
        if self._most is not None and len(self._held) > self._most:
            oldest = next(iter(self._held))
            self.bytes -= self._held.pop(oldest).bytes
            self.forgotten += 1

    def _take(self, record: Record) -> None:
        if not record["address"]:
            return  # freeing nothing is allowed
        key = (record["pid"], _TAKES[record["kind"]], record["address"])
        held = self._held.pop(key, None)
        if held:
            self.bytes -= held.bytes
        else:
            self.unknown_frees += 1

    def _gone(self, pid: int) -> None:
        for key in [key for key in self._held if key[0] == pid]:
            self.bytes -= self._held.pop(key).bytes


def growth(records: Iterable[Record]) -> list[tuple[str, int, int]]:
    """(function, bytes it held halfway through the records' time, bytes at their end), of those
    that hold any, the largest first. `records` are in the order of time."""
    ordered = list(records)
    middle = (ordered[0]["t_ns"] + ordered[-1]["t_ns"]) // 2 if ordered else 0
    state = memory(record for record in ordered if record["t_ns"] <= middle)
    before = dict(state.by_holder())
    for record in ordered:
        if record["t_ns"] > middle:
            state.add(record)
    return [(holder, before.get(holder, 0), held) for holder, held in state.by_holder()]


def memory(records: Iterable[Record]) -> Memory:
    """The memory after all these records."""
    state = Memory()
    for record in records:
        state.add(record)
    return state
