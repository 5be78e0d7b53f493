"""The resource axis: what a request uses."""

from collections.abc import Callable
from dataclasses import dataclass

from observability.agent.events import Record
from observability.session.calls import Span, made
from observability.session.session import Request

# (when, how long it lasted, how much)
Use = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource. `unit` is ns, bytes or tokens; `of` is a function's own use. `uses` is what
    the request used and when, in functions that were traced or not; GPU memory that is held has
    no such list, as it lasts longer."""

    key: str
    label: str
    unit: str
    of: Callable[[Span], int]
    uses: Callable[[Request], list[Use]]


def _running_ns(span: Span) -> int:
    return max(span.own_ns() - span.off_cpu_ns - span.gil_ns - span.gpu_ns, 0)


def _running(request: Request) -> list[Use]:
    return [(span.start_ns, span.ns(), _running_ns(span)) for span in request.spans]


def _waits(kind: str) -> Callable[[Request], list[Use]]:
    return lambda request: [
        (record["t_ns"], record["ns"], record["ns"])
        for record in request.records
        if record["layer"] == "wait" and record["kind"] == kind
    ]


def _outermost(request: Request) -> list[Record]:
    return [r for r in request.records if r["layer"] == "gpu" and not r["nested"]]


def _calls(request: Request) -> list[Use]:
    return [(r["t_ns"], r["ns"], r["ns"]) for r in _outermost(request)]


def _copies(request: Request) -> list[Use]:
    return [
        (record["t_ns"], 0, record["bytes"])
        for record in _outermost(request)
        if record["kind"] == "copy" and record["result"] == 0
    ]


def _tokens(kind: str | None) -> Callable[[Request], list[Use]]:
    def uses(request: Request) -> list[Use]:
        wanted = kind or made(request.records)
        return [
            (record["t_ns"], 0, 1)
            for record in request.records
            if record["layer"] == "token" and record["kind"] == wanted
        ]

    return uses


HELD = "held"
RESOURCES = (
    Resource("cpu", "CPU time", "ns", _running_ns, _running),
    Resource("off_cpu", "off the CPU", "ns", lambda span: span.off_cpu_ns, _waits("off_cpu")),
    Resource("gil", "waiting for the GIL", "ns", lambda span: span.gil_ns, _waits("gil")),
    Resource("gpu", "in GPU calls", "ns", lambda span: span.gpu_ns, _calls),
    Resource("copied", "copied by the GPU", "bytes", lambda span: span.copied_bytes, _copies),
    Resource(HELD, "GPU memory held", "bytes", lambda span: 0, lambda request: []),
    Resource("generated", "tokens generated", "tokens", lambda s: s.generated, _tokens(None)),
    Resource("discarded", "tokens discarded", "tokens", lambda s: s.discarded,
             _tokens("discarded")),
)  # fmt: skip
