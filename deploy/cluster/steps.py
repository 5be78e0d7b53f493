"""Progress for a person: one line a step, with the seconds it took."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print `[name] … 1.2 s` to standard error around the body; `failed after` if it raises."""
    began = time.monotonic()
    print(f"[{name}] …", end="", file=sys.stderr, flush=True)
    try:
        yield
    except BaseException:
        print(f" failed after {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
        raise
    print(f" {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
