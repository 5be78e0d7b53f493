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
            *metric("requests", "counter", "Requests seen.",
                     ((labels(intent=i), len(rs)) for i, rs in by_intent.items())),
            *metric("request_seconds", "counter", "Time from first to last event.",
                     ((labels(intent=i), _seconds(rs)) for i, rs in by_intent.items())),
            *metric("tokens", "counter", "Tokens by what became of them.",
                     ((labels(intent=i, event=e), sum(r.tokens(e) for r in rs))
                      for i, rs in by_intent.items() for e in _EVENTS)),
            *metric("gpu_held_bytes", "gauge", "GPU memory that nothing has freed.",
                     ((labels(function=f), held) for f, held in session.memory.by_holder())),
            *metric("events_lost", "counter", "Events that found no room.",
                     [("", loss.lost)]),
            *metric("events_sent", "counter", "Events that happened.", [("", loss.sent)]),
        ]
    )  # fmt: skip


def metric(
    name: str, kind: str, help_text: str, values: Iterable[tuple[str, float]]
) -> Iterator[str]:
    """The lines of one metric; `values` are (labels, value)."""
    full = f"switchyard_trace_{name}" + ("_total" if kind == "counter" else "")
    yield f"# HELP {full} {help_text}"
    yield f"# TYPE {full} {kind}"
    for labels, value in values:
        yield f"{full}{labels} {value}"


def labels(**labels: str) -> str:
    """Labels as they stand behind a name."""
    quoted = (f'{key}="{_escape(value)}"' for key, value in labels.items())
    return "{" + ",".join(quoted) + "}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _seconds(requests: Iterable[Request]) -> float:
    return sum(request.end_ns - request.start_ns for request in requests) / 1e9
