"""A session for a terminal, 80 columns wide."""

from collections import Counter
from collections.abc import Iterable, Iterator

from observability.session.session import Loss, Request
from observability.session.tree import Node

_NAME = 33
_DEEPEST = 16
_TABLE_HEAD = (
    f"{'REQUEST':<20} {'SCENARIO':<17} {'MS':>8} {'WAITED':>8} {'HELD':>7} {'TOKENS':>6}"
    f" {'WASTE%':>6}"
)


def table(requests: Iterable[Request], loss: Loss, most: int = 40) -> str:
    """The requests that took longest, a line each."""
    lines = [_TABLE_HEAD]
    ordered = sorted(requests, key=lambda request: request.end_ns - request.start_ns, reverse=True)
    for request in ordered[:most]:
        waited = sum(span.off_cpu_ns + span.gil_ns for span in request.spans)
        held, tokens = size(request.memory.bytes), request.tokens("generated")
        lines.append(
            f"{request.id[:20]:<20} {request.intent[:17]:<17}"
            f" {_ms(request.end_ns - request.start_ns):>8} {_ms(waited):>8}"
            f" {held:>7} {tokens:>6} {_share(request):>6}"
        )
    if len(ordered) > most:
        lines.append(f"and {len(ordered) - most} more")
    return "\n".join([*lines, str(loss), ""])


def story(request: Request, loss: Loss, watts: float | None = None) -> str:
    """One request: its functions as a tree with waits, GPU and tokens beside them. `watts` is
    what the GPUs drew meanwhile (None: unknown)."""
    lines = [f"request {request.id}  {request.intent or 'scenario unknown'}"
             f"  {_ms(request.end_ns - request.start_ns)} ms"]  # fmt: skip
    lines.append(
        f"{'FUNCTION':<{_NAME}} {'CALLS':>5} {'MS':>7} {'OWN':>7} {'OFF':>7} {'GIL':>5} {'GPU':>6}"
        f" {'TOK':>3}"
    )
    lines += _nodes(request.tree)
    return "\n".join(
        [
            *lines,
            *_gpu(request),
            *_tokens(request),
            *_waste(request, watts),
            *_ring(request),
            str(loss),
            "",
        ]
    )


def _nodes(roots: dict[str, Node]) -> Iterator[str]:
    waiting = [(node, 0) for node in _shortest_first(roots)]
    while waiting:
        node, depth = waiting.pop()
        calls = f"{node.calls}{'?' if node.lost else ''}"
        yield (
            f"{_name(node, min(depth, _DEEPEST)):<{_NAME}} {calls:>5} {_ms(node.ns):>7}"
            f" {_ms(node.own_ns):>7} {_ms(node.off_cpu_ns):>7} {_ms(node.gil_ns):>5}"
            f" {size(node.gpu_bytes):>6} {node.generated:>3}"
        )
        waiting += [(child, depth + 1) for child in _shortest_first(node.children)]


def _shortest_first(nodes: dict[str, Node]) -> list[Node]:
    return sorted(nodes.values(), key=lambda node: node.ns)


def _name(node: Node, indent: int) -> str:
    room = _NAME - indent
    # The end of a name says more than its package.
    short = node.function if len(node.function) <= room else "…" + node.function[1 - room :]
    return " " * indent + short


def _gpu(request: Request) -> Iterator[str]:
    memory = request.memory
    if memory.peak:
        yield f"GPU memory: {size(memory.peak)} at most, {size(memory.bytes)} still held"
    for holder, held in memory.by_holder():
        yield f"  {size(held)} by {holder or 'no request function'}"
    copied: Counter[str] = Counter()
    for span in request.spans:
        copied[span.function] += span.copied_bytes
    for function, amount in copied.most_common():
        if amount:
            yield f"  {size(amount)} copied by {function}"
    for (call, result), times in sorted(memory.failed.items()):
        yield f"  {call} failed {times} times with code {result}"


def _tokens(request: Request) -> Iterator[str]:
    if generated := request.tokens("generated"):
        why = ", ".join(f"{reason} {n}" for reason, n in request.discards().items())
        yield (
            f"tokens: {generated} generated, {request.tokens('handed')} handed over,"
            f" {request.tokens('delivered')} delivered, {request.tokens('discarded')} discarded"
            f"{f' ({why})' if why else ''}"
        )


def _waste(request: Request, watts: float | None) -> Iterator[str]:
    tokens = request.line.get("tokens")
    seconds = tokens.get("seconds") if isinstance(tokens, dict) else None
    if isinstance(seconds, int | float) and seconds > 0:
        energy = "energy n/a" if watts is None else f"{seconds * watts:.1f} J of the node's GPUs"
        yield f"spent on what nobody read: {seconds:.3f} s, {energy}"


def _ring(request: Request) -> Iterator[str]:
    if request.line:
        told = ", ".join(
            f"{key} {value}" for key, value in request.line.items()
            if key not in ("layer", "request_id") and not isinstance(value, dict | list)
        )  # fmt: skip
        yield f"ring: {told}"


def size(count: int) -> str:
    """Bytes in at most six characters."""
    if count < 1024:
        return str(count)
    amount = float(count)
    for unit in ("K", "M", "G"):
        amount /= 1024
        if amount < 1000:
            return f"{amount:.1f}{unit}"
    return f"{amount / 1024:.1f}T"


def _ms(ns: int) -> str:
    return f"{ns / 1e6:.1f}"


def _share(request: Request) -> str:
    generated = request.tokens("generated")
    return f"{100 * request.tokens('discarded') / generated:.0f}" if generated else "-"
