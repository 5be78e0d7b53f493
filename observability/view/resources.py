"""The resource axis: what a request uses, from its spans."""

from collections.abc import Callable
from dataclasses import dataclass

from observability.session.calls import Span


@dataclass(frozen=True, slots=True)
class Resource:
    """One resource. `unit` is ns, bytes or tokens; `of` is a span's own use. GPU memory that is
    held is no span's: it lasts longer."""

    key: str
    label: str
    unit: str
    of: Callable[[Span], int]


def _running_ns(span: Span) -> int:
    return max(span.own_ns() - span.off_cpu_ns - span.gil_ns - span.gpu_ns, 0)


HELD = "held"
RESOURCES = (
    Resource("cpu", "CPU time", "ns", _running_ns),
    Resource("off_cpu", "off the CPU", "ns", lambda span: span.off_cpu_ns),
    Resource("gil", "waiting for the GIL", "ns", lambda span: span.gil_ns),
    Resource("gpu", "in GPU calls", "ns", lambda span: span.gpu_ns),
    Resource("copied", "copied by the GPU", "bytes", lambda span: span.copied_bytes),
    Resource(HELD, "GPU memory held", "bytes", lambda span: 0),
    Resource("generated", "tokens generated", "tokens", lambda span: span.generated),
    Resource("discarded", "tokens discarded", "tokens", lambda span: span.discarded),
)
