"""Function events to spans: when each function of a request ran, on which thread, inside what.

Spans of one thread are strictly nested, which speedscope and Perfetto ask for. A coroutine that
waits has a gap: it ends where it yields and another span of it begins where it resumes."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from observability.agent.events import Record

Thread = tuple[int, int]


@dataclass(slots=True)
class Span:
    """One stretch of one function on one thread, from `start_ns` to `end_ns`.

    `how` it ended: return, yield, unwind, or "lost" when its end was never seen and something
    below it went on. `first` is false for a stretch after a yield."""

    function: str
    frame: int
    thread: Thread
    start_ns: int
    first: bool
    parent: "Span | None"
    end_ns: int = 0
    how: str = "lost"
    children: "list[Span]" = field(default_factory=list)
    off_cpu_ns: int = 0
    gil_ns: int = 0
    gpu_ns: int = 0
    gpu_bytes: int = 0
    copied_bytes: int = 0
    generated: int = 0
    discarded: int = 0

    def ns(self) -> int:
        """How long it ran, what it called included."""
        return self.end_ns - self.start_ns

    def own_ns(self) -> int:
        """How long it ran without what it called."""
        return self.ns() - sum(child.ns() for child in self.children)

    def path(self) -> tuple[str, ...]:
        """The functions from the outermost to this one."""
        names = []
        span: Span | None = self
        while span:
            names.append(span.function)
            span = span.parent
        return tuple(reversed(names))


class CallBuilder:
    """Builds the spans of one request from its records in the order of time."""

    def __init__(self, made: str = "generated") -> None:
        """`made` is the event that says that a token was made."""
        self._made = made
        self.roots: list[Span] = []
        self.all: list[Span] = []
        self._stacks: dict[Thread, list[Span]] = {}
        self._last: dict[Thread, int] = {}

    def add(self, record: Record) -> None:
        """Take a record of the layers python, wait, gpu or token."""
        thread = (record["pid"], record["tid"])
        layer, kind = record["layer"], record["kind"]
        if layer == "python":
            self._last[thread] = record["t_ns"]
            if kind in ("entry", "resume"):
                self._open(record, thread, first=kind == "entry")
            elif kind in ("return", "yield", "unwind"):
                self._close(record, thread)
        elif layer in ("wait", "gpu", "token") and (stack := self._stacks.get(thread)):
            _charge(stack[-1], record, self._made)

    def finish(self) -> None:
        """End what is still open where its thread was last seen."""
        for thread, stack in self._stacks.items():
            while stack:
                self._end(stack.pop(), self._last[thread], "lost")

    def _open(self, record: Record, thread: Thread, *, first: bool) -> None:
        stack = self._stacks.setdefault(thread, [])
        parent = stack[-1] if stack else None
        span = Span(
            record["function"], record["frame"], thread, record["t_ns"], first=first, parent=parent
        )
        (parent.children if parent else self.roots).append(span)
        self.all.append(span)
        stack.append(span)

    def _close(self, record: Record, thread: Thread) -> None:
        stack = self._stacks.get(thread, [])
        frame, function = record["frame"], record["function"]
        for at in reversed(range(len(stack))):
            same = stack[at].frame == frame if frame else stack[at].function == function
            if same:
                for lost in reversed(stack[at + 1 :]):
                    self._end(lost, record["t_ns"], "lost")
                self._end(stack[at], record["t_ns"], record["kind"])
                del stack[at:]
                return
        # It was entered before we attached: nothing is known of its beginning.

    @staticmethod
    def _end(span: Span, t_ns: int, how: str) -> None:
        span.end_ns = max(t_ns, span.start_ns)
        span.how = how


def _charge(span: Span, record: Record, made: str) -> None:
    layer, kind = record["layer"], record["kind"]
    if layer == "wait":
        if kind == "gil":
            span.gil_ns += record["ns"]
        else:
            span.off_cpu_ns += record["ns"]
    elif layer == "token":
        span.generated += kind == made
        span.discarded += kind == "discarded"
    elif not record["nested"]:
        span.gpu_ns += record["ns"]
        if record["result"] == 0:
            if kind in ("alloc", "create"):
                span.gpu_bytes += record["bytes"]
            elif kind == "copy":
                span.copied_bytes += record["bytes"]


def spans(records: Iterable[Record]) -> list[Span]:
    """Every span of one request's records, in the order in which they began."""
    ordered = sorted(records, key=_time)
    builder = CallBuilder(made(ordered))
    for record in ordered:
        builder.add(record)
    builder.finish()
    return builder.all


def made(records: Iterable[Record]) -> str:
    """Which event says that a token was made: where no model tells, what the server received."""
    kinds = {record["kind"] for record in records if record["layer"] == "token"}
    return "received" if "received" in kinds and "generated" not in kinds else "generated"


def _time(record: Record) -> int:
    return int(record["t_ns"])
