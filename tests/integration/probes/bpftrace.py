"""Counts probe hits with bpftrace, which knows nothing of us but the notes in the module."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TRACING = Path("/sys/kernel/tracing")
_PROGRAM = """
usdt:{path}:switchyard:object_chain {{ }}
usdt:{path}:switchyard:function_entry {{ @[str(arg0), str(arg1), "entry"] = count(); }}
usdt:{path}:switchyard:function_return {{
  $how = arg3 == 0 ? "return" : arg3 == 1 ? "yield" : arg3 == 2 ? "resume" : "unwind";
  @[str(arg0), str(arg1), $how] = count();
}}
usdt:{path}:switchyard:object_create {{ @[str(arg0), str(arg1), "create"] = count(); }}
usdt:{path}:switchyard:object_destroy {{ @["", str(arg0), "destroy"] = count(); }}
usdt:{path}:switchyard:token {{ @[str(arg0), "token", "token"] = count(); }}
"""

Counts = Counter[tuple[str, str, str]]
"""(request, function or type, event) to hits."""


@contextmanager
def counting(path: str) -> Iterator[Counts]:
    """The hits in all processes that have the module at `path`; filled when the context ends.
    `wait_until_counted` says when all probes are there."""
    if not (_TRACING / "events").is_dir():
        subprocess.run(["mount", "-t", "tracefs", "nodev", str(_TRACING)], check=True)
    found: Counts = Counter()
    tracer = subprocess.Popen(
        ["bpftrace", "-f", "json", "-e", _PROGRAM.format(path=path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "BPFTRACE_STRLEN": "64"},
    )
    try:
        yield found
    finally:
        out, err = _ended(tracer)
    for line in out.splitlines():
        said = json.loads(line) if line.startswith("{") else {}
        if said.get("type") == "map":
            for key, hits in said["data"]["@"].items():
                request, name, event = re.split(r",(?=[^,]*,[^,]*$)|,(?=[^,]*$)", key)
                found[request, name, event] += hits
    assert found, err


def _ended(tracer: "subprocess.Popen[str]") -> tuple[str, str]:
    """What it said. An interrupt that comes while it sets itself up is lost: it gets another."""
    for _ in range(12):
        tracer.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return tracer.communicate(timeout=5)
    tracer.kill()
    raise AssertionError("bpftrace does not end")


def wait_until_counted(pid: int, module: Path) -> None:
    """Return when `counting` has attached all its probes to `pid`: they are attached from the
    program's end to its beginning or the other way, and these two are the ends."""
    for point in ("object_chain", "token"):
        wait_until_attached(pid, module, point)


def wait_until_attached(pid: int, module: Path, point: str = "token") -> None:
    """Return when somebody is at a point, as its semaphore in the memory of `pid` says."""
    notes = subprocess.run(["readelf", "-n", module], capture_output=True, text=True, check=True)
    semaphore = re.search(rf"Name: {point}\n.*Semaphore: (0x\w+)", notes.stdout)
    assert semaphore
    mapped = next(
        line for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if module.name in line
    )
    address = int(mapped.split("-")[0], 16) + int(semaphore[1], 16)
    end = time.monotonic() + 60
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        while not os.pread(memory.fileno(), 2, address).strip(b"\0"):
            assert time.monotonic() < end, f"nobody attaches to {point}"
            time.sleep(0.05)
