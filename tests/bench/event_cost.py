"""What one hit of a probe costs the process that is traced, by a program that does nothing."""

import ctypes
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from observability import native, probes
from observability.native import MODULE
from observability.probes.request import begin

_HITS = 20_000
_TIMES = 7
LIBC = Path("/lib/x86_64-linux-gnu/libc.so.6")


def event_ns() -> float:
    """One of our points, called from Python as a wrapper calls it."""
    points = native.load()

    def attached() -> bool:
        return points.attached() != 0

    probe = f"usdt:{MODULE}:switchyard:function_entry"
    return _added(lambda: points.entry(b"event", 0), probe, attached)


def ordinary_event_ns() -> float:
    """A uprobe on a function that begins like any other."""
    labs = ctypes.CDLL(None).labs
    bare = _each_ns(lambda: labs(1))
    # Only the cost itself says that the probe is in.
    return _added(lambda: labs(1), f"uprobe:{LIBC}:labs", lambda: _each_ns(labs, 99) > bare + 100)


def idle_ns() -> float:
    """What a function costs more in a package that has probes, while nobody is attached."""
    assert probes.start({"PROBES": "tests.bench.idle_subject"})
    from tests.bench.idle_subject import leaf as prepared

    def leaf(value: int) -> int:
        return value

    pairs = [(_each_ns(lambda: prepared(1)), _each_ns(lambda: leaf(1))) for _ in range(_TIMES)]
    return max(0.0, min(with_probes for with_probes, _ in pairs) - min(bare for _, bare in pairs))


def begin_ns() -> float:
    """What it costs to name a request and to look for tracers, while nobody is attached."""

    def one() -> None:
        with begin("0123456789abcdef0123456789abcdef"):
            pass

    return _each_ns(one)


def _added(call: Callable[[], object], probe: str, attached: Callable[[], bool]) -> float:
    before = _each_ns(call)
    with _probing(probe, attached):
        during = _each_ns(call)
    return during - min(before, _each_ns(call))


def _each_ns(call: Callable[..., object], hits: int = _HITS) -> float:
    """Nanoseconds a call, in the quickest of some rounds."""
    times = []
    for _ in range(_TIMES):
        begin = time.perf_counter_ns()
        for _ in range(hits):
            call()
        times.append(time.perf_counter_ns() - begin)
    return min(times) / hits


@contextmanager
def _probing(probe: str, attached: Callable[[], bool]) -> Iterator[None]:
    tracer = subprocess.Popen(
        ["bpftrace", "-e", f'{probe} /0/ {{ printf(""); }}'],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + 60
        while not attached():
            assert time.monotonic() < end, f"bpftrace does not attach to {probe}"
            assert tracer.poll() is None, f"bpftrace refuses {probe}"
            time.sleep(0.1)
        yield
    finally:
        tracer.terminate()
        tracer.wait(60)
