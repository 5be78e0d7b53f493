"""A whole recording, sorted by request."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from observability.agent.events import Record
from observability.bpf.errors import TraceError
from observability.gpu.memory import Memory, growth, memory
from observability.gpu.power import mean_watts
from observability.session.calls import Span, made, spans
from observability.session.tree import Node, tree


@dataclass
class Request:
    """What is known of one request: the agent's records, and the ring's line if it left one."""

    id: str
    records: list[Record] = field(default_factory=list)
    line: Record = field(default_factory=dict)

    @cached_property
    def spans(self) -> list[Span]:
        """Its functions, in the order in which they began."""
        return spans(self.records)

    @cached_property
    def tree(self) -> dict[str, Node]:
        """Its functions by place, added up."""
        return tree(self.spans)

    @cached_property
    def memory(self) -> Memory:
        """The GPU memory that it took, and what of that it has not given back."""
        return memory(record for record in self.records if record["layer"] == "gpu")

    @property
    def start_ns(self) -> int:
        """The time of its first record."""
        return min((record["t_ns"] for record in self.records), default=0)

    @property
    def end_ns(self) -> int:
        """The time when its last record ended."""
        return max((r["t_ns"] + r.get("ns", 0) for r in self.records), default=0)

    @property
    def intent(self) -> str:
        """Its business scenario; empty when no ring line names it."""
        return str(self.line.get("intent") or "")

    def tokens(self, kind: str) -> int:
        """How many tokens were `generated`, `handed` to the server, `delivered`, `discarded`."""
        if kind == "generated":
            kind = made(self.records)
        return sum(r["layer"] == "token" and r["kind"] == kind for r in self.records)

    def discards(self) -> dict[str, int]:
        """Discarded tokens by reason."""
        reasons: dict[str, int] = {}
        for record in self.records:
            if record["layer"] == "token" and record["kind"] == "discarded":
                reason = record["outcome"] or "other"
                reasons[reason] = reasons.get(reason, 0) + 1
        return reasons


@dataclass(frozen=True, slots=True)
class Loss:
    """What a recording misses: `lost` of `sent` events, `read` of them; `bad` lines."""

    sent: int
    read: int
    lost: int
    bad: int = 0

    def __str__(self) -> str:
        bad = f", {self.bad} damaged lines" if self.bad else ""
        return f"{self.lost} lost, {self.read} read of {self.sent} events{bad}"


class Session:
    """Records sorted by request. Times are of one boot: of several only the last is kept."""

    def __init__(self, records: Iterable[Record]) -> None:
        self.requests: dict[str, Request] = {}
        self.header: Record = {}
        self.system: list[Record] = []
        self._losses: list[Loss] = []
        self._all_gpu: list[Record] = []
        for record in records:
            try:
                self._add(record)
            except (KeyError, TypeError):
                raise TraceError(f"a record lacks what its layer has: {record}") from None

    @property
    def memory(self) -> Memory:
        """GPU memory over all requests and none."""
        return memory(self._gpu_in_order())

    def growth(self) -> list[tuple[str, int, int]]:
        """(function, bytes held halfway, bytes held at the end), the largest first."""
        return growth(self._gpu_in_order())

    def loss(self, bad: int = 0) -> Loss:
        """What is missing; `bad` lines were unreadable."""
        return Loss(
            sum(loss.sent for loss in self._losses),
            sum(loss.read for loss in self._losses),
            sum(loss.lost for loss in self._losses),
            bad,
        )

    def watts(self, request: Request) -> float | None:
        """What the node's GPUs drew while it ran; None where it is not known."""
        readings = (record for record in self.system if record["layer"] == "nvml")
        return mean_watts(readings, request.start_ns, request.end_ns) if request.records else None

    def request(self, wanted: str) -> Request:
        """The request of this id, or whose id begins so. Errors: `TraceError`."""
        if wanted in self.requests:
            return self.requests[wanted]
        found = [id for id in self.requests if id.startswith(wanted)]
        if len(found) != 1:
            what = f"{len(found)} requests begin with" if found else "no request is named"
            raise TraceError(f"{what} {wanted!r}; `top` lists those that there are")
        return self.requests[found[0]]

    def _add(self, record: Record) -> None:
        layer = record["layer"]
        if layer == "header":
            self._header(record)
        elif layer == "loss":
            # Each is the sum so far; one that counts less begins another recording.
            so_far = Loss(record["sent"], record["read"], record["lost"])
            if self._losses and so_far.sent >= self._losses[-1].sent:
                self._losses.pop()
            self._losses.append(so_far)
        elif layer == "ring":
            self._named(str(record["request_id"])).line = record
        elif layer in ("process", "nvml"):
            self.system.append(record)
            self._all_gpu += [record] if layer == "process" else []
        else:
            if layer == "gpu":
                self._all_gpu.append(record)
            if record["request"]:
                self._named(record["request"]).records.append(record)

    def _gpu_in_order(self) -> list[Record]:
        return sorted(self._all_gpu, key=lambda record: int(record["t_ns"]))

    def _header(self, record: Record) -> None:
        if self.header and record["boot"] != self.header["boot"]:
            self.requests.clear()
            self.system.clear()
            self._all_gpu.clear()
        self.header = record

    def _named(self, id: str) -> Request:
        return self.requests.setdefault(id, Request(id))
