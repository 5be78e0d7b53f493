"""Prometheus's text format."""

from collections.abc import Iterable, Iterator

from observability.session.session import Loss, Request, Session

_EVENTS = ("generated", "handed", "delivered", "discarded")


def prometheus(session: Session, requests: Iterable[Request], loss: Loss) -> str:
    """The metrics of a session: tokens and seconds per scenario, GPU memory by holder, losses."""
    by_intent: dict[str, list[Request]] = {}
    for request in requests:
        by_intent.setdefault(request.intent, []).append(request)
    return "\n".join(
        [
            *_metric("requests", "counter", "Requests seen.",
                     ((_labels(intent=i), len(rs)) for i, rs in by_intent.items())),
            *_metric("request_seconds", "counter", "Time from first to last event.",
                     ((_labels(intent=i), _seconds(rs)) for i, rs in by_intent.items())),
            *_metric("tokens", "counter", "Tokens by what became of them.",
                     ((_labels(intent=i, event=e), sum(r.tokens(e) for r in rs))
                      for i, rs in by_intent.items() for e in _EVENTS)),
            *_metric("gpu_held_bytes", "gauge", "GPU memory that nothing has freed.",
                     ((_labels(function=f), held) for f, held in session.memory.by_holder())),
            *_metric("events_lost", "counter", "Events that found no room.",
                     [("", loss.lost)]),
            *_metric("events_sent", "counter", "Events that happened.", [("", loss.sent)]),
        ]
    )  # fmt: skip


def _metric(
    name: str, kind: str, help_text: str, values: Iterable[tuple[str, float]]
) -> Iterator[str]:
    full = f"switchyard_trace_{name}" + ("_total" if kind == "counter" else "")
    yield f"# HELP {full} {help_text}"
    yield f"# TYPE {full} {kind}"
    for labels, value in values:
        yield f"{full}{labels} {value}"


def _labels(**labels: str) -> str:
    quoted = (f'{key}="{_escape(value)}"' for key, value in labels.items())
    return "{" + ",".join(quoted) + "}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _seconds(requests: Iterable[Request]) -> float:
    return sum(request.end_ns - request.start_ns for request in requests) / 1e9
