"""Spans with the same path added up: the story of a request as a tree."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from observability.session.calls import Span


@dataclass(slots=True)
class Node:
    """One function at one place in the tree. Times are nanoseconds; `ns` holds what it called,
    `own_ns` does not; waits, bytes and tokens are the function's own."""

    function: str
    calls: int = 0
    ns: int = 0
    own_ns: int = 0
    off_cpu_ns: int = 0
    gil_ns: int = 0
    gpu_ns: int = 0
    gpu_bytes: int = 0
    copied_bytes: int = 0
    generated: int = 0
    discarded: int = 0
    lost: int = 0
    children: "dict[str, Node]" = field(default_factory=dict)


def tree(spans: Iterable[Span]) -> dict[str, Node]:
    """The outermost functions, each with what it called."""
    roots: dict[str, Node] = {}
    for span in spans:
        node = _place(roots, span.path())
        node.calls += span.first
        node.lost += span.how == "lost"
        node.ns += span.ns()
        node.own_ns += span.own_ns()
        for name in ("off_cpu_ns", "gil_ns", "gpu_ns", "gpu_bytes", "copied_bytes", "generated",
                     "discarded"):  # fmt: skip
            setattr(node, name, getattr(node, name) + getattr(span, name))
    return roots


def _place(roots: dict[str, Node], path: tuple[str, ...]) -> Node:
    level = roots
    for function in path[:-1]:
        level = level.setdefault(function, Node(function)).children
    return level.setdefault(path[-1], Node(path[-1]))
