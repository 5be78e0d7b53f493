"""What an engine must do to be measured, and the process that serves one.

Imported by the peer's interpreter too: it needs the standard library and numpy only.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
Rows = Literal["last", "every"]


class Subject(Protocol):
    """An engine with one sequence."""

    threads: int

    def start(self) -> None:
        """Forget the sequence: the next token stands at position 0."""

    def feed(self, tokens: list[int], rows: Rows = "last") -> F32:
        """Append tokens; logits [1, vocabulary] of the last, or [n, vocabulary] of every one."""


Tasks = dict[str, Callable[..., dict[str, Any]]]


def decode(subject: Subject, tokens: list[int], count: int) -> dict[str, float]:
    """Read `tokens`, then write `count` more, each the most likely one; only these are timed."""
    subject.start()
    row = subject.feed(tokens)
    begun = perf_counter()
    for _ in range(count):
        row = subject.feed([int(row.argmax())])
    return {"per_s": count / (perf_counter() - begun)}


def prefill(subject: Subject, tokens: list[int]) -> dict[str, float]:
    """Read `tokens` into an empty sequence, up to the choice of the first token."""
    subject.start()
    begun = perf_counter()
    subject.feed(tokens).argmax()
    spent = perf_counter() - begun
    return {"per_s": len(tokens) / spent, "ms": spent * 1e3}


def logits(subject: Subject, tokens: list[int], to: str) -> dict[str, Any]:
    """Save the logits of every position as a numpy file."""
    subject.start()
    np.save(to, subject.feed(tokens, "every"))
    return {"saved": to}


def memory() -> dict[str, float]:
    """Resident and anonymous memory of this process, in MB of a million bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {
        name: int(fields[key].split()[0]) * 1024 / 1e6
        for name, key in (("rss_mb", "VmRSS"), ("anonymous_mb", "RssAnon"))
    }


def serve(load: Callable[[], Subject], more: Callable[[Any], Tasks] = lambda subject: {}) -> None:
    """Load an engine, then do what the lines of standard input say, a JSON object each."""
    begun = perf_counter()
    subject = load()
    reply({"load_s": perf_counter() - begun, "threads": subject.threads})
    tasks: Tasks = {
        "decode": lambda **how: decode(subject, **how),
        "prefill": lambda **how: prefill(subject, **how),
        "logits": lambda **how: logits(subject, **how),
        "memory": memory,
    } | more(subject)
    for line in sys.stdin:
        order = json.loads(line)
        reply(tasks[order.pop("do")](**order))


def reply(figures: dict[str, Any]) -> None:
    print(json.dumps(figures), flush=True)
