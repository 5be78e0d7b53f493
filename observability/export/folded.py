"""Folded stacks, as flamegraph.pl and speedscope read them: `a;b;c 123` a line."""

from collections import Counter
from collections.abc import Callable, Iterable

from observability.bpf.errors import TraceError
from observability.session.calls import Span
from observability.session.session import Request

WEIGHTS: dict[str, Callable[[Span], int]] = {
    "time": lambda span: span.own_ns() // 1000,
    "waiting": lambda span: (span.off_cpu_ns + span.gil_ns) // 1000,
    "bytes": lambda span: span.gpu_bytes,
    "copied": lambda span: span.copied_bytes,
    "discarded": lambda span: span.discarded,
}


def folded(requests: Iterable[Request], weight: str) -> str:
    """Lines of stacks, the scenario first. `weight` is one of WEIGHTS: microseconds for time and
    waiting, bytes, bytes copied, tokens. Errors: `TraceError`."""
    if weight not in WEIGHTS:
        raise TraceError(f"no weight is named {weight!r}; there are {', '.join(WEIGHTS)}")
    sums: Counter[str] = Counter()
    for request in requests:
        for span in request.spans:
            amount = WEIGHTS[weight](span)
            if amount > 0:
                path = (request.intent or "no intent", *span.path())
                sums[";".join(map(_clean, path))] += amount
    return "".join(f"{stack} {amount}\n" for stack, amount in sorted(sums.items()))


def _clean(name: str) -> str:
    return name.replace(";", ":").replace("\n", " ")
