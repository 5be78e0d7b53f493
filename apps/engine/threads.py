"""How many threads compute, and on which CPUs."""

import os

from apps.cpus import available_cpus
from apps.engine.errors import BadRequest

MOST = 64


def default_threads() -> int:
    """`$ENGINE_THREADS`, or as many as the cgroup's quota and the visible CPUs give.

    Errors: `BadRequest`.
    """
    if text := os.environ.get("ENGINE_THREADS"):
        if not (text.isascii() and text.isdigit()):
            raise BadRequest(f"ENGINE_THREADS is {text!r}; set it to a number from 1 to {MOST}")
        return checked(int(text))
    return min(available_cpus(), MOST)


def checked(threads: int) -> int:
    """`threads`, if so many are possible. Errors: `BadRequest`."""
    if not 1 <= threads <= MOST:
        raise BadRequest(f"{threads} threads (ENGINE_THREADS); choose 1 to {MOST}")
    return threads


def exclusive_cpus(threads: int) -> tuple[int, ...]:
    """A CPU for each thread, if this process was given a set of just as many; else none.

    Where all CPUs of the machine are allowed, others use them too: a thread that is pinned
    there waits for them.
    """
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) == threads and threads < (os.cpu_count() or 1):
        return tuple(allowed)
    return ()
