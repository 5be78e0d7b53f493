"""Tracers that watch a running gateway and pipeline while a context is open."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from observability.agent.process import with_descendants
from observability.native import MODULE
from tests.integration.probes.bpftrace import wait_until_attached

_PYSPY = Path(sys.executable).with_name("py-spy")


@contextmanager
def recorded(gateway: int, pipeline: int, folder: Path) -> Iterator[Path]:
    """Our own recorder; gives its last line's file ("N lost, N read of N events")."""
    said = folder / "record.err"
    command = [sys.executable, "-m", "observability", "record", "--pid", str(gateway), "--pid",
               str(pipeline), "--out", str(folder / "trace.jsonl")]  # fmt: skip
    with said.open("w") as err:
        tracer = subprocess.Popen(command, stderr=err)
    try:
        for pid in with_descendants([gateway, pipeline]):
            if MODULE.name in Path(f"/proc/{pid}/maps").read_text():
                wait_until_attached(pid, MODULE)
        yield said
    finally:
        _end(tracer)


@contextmanager
def sampled(gateway: int, pipeline: int, folder: Path) -> Iterator[None]:
    """py-spy at its usual rate, on the same processes."""
    tracers = []
    for name, pid in (("gateway", gateway), ("pipeline", pipeline)):
        out = str(folder / f"{name}.raw")
        command = [str(_PYSPY), "record", "--subprocesses", "--format", "raw", "--output", out,
                   "--duration", "unlimited", "--pid", str(pid)]  # fmt: skip
        tracers.append(
            subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        )
    try:
        # It says nothing when it has begun.
        time.sleep(1)
        assert all(tracer.poll() is None for tracer in tracers), "py-spy does not attach"
        yield
    finally:
        for tracer in tracers:
            _end(tracer)


def _end(tracer: "subprocess.Popen[bytes]") -> None:
    tracer.send_signal(signal.SIGINT)
    tracer.wait(60)
