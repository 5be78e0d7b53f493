"""Programs in the kernel, and the one buffer that their events come through."""

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Literal

from observability.bpf.errors import TraceError
from observability.bpf.kernel import Ways, ways
from observability.bpf.link import UPROBES
from observability.bpf.source import HEADERS, Program, flags, text

# Debian's package is for the system's Python alone; it is plain Python and serves any.
_DEBIAN = "/usr/lib/python3/dist-packages"
PAGES = 4096
# How many files can have links at a time: the bits of `struct files`.
FILES = 256
Use = Literal["uprobe", "tracepoint", "perf event"]
_KINDS: dict[Use, str] = {
    "uprobe": "KPROBE",
    "tracepoint": "RAW_TRACEPOINT",
    "perf event": "PERF_EVENT",
}
# A reader that is woken for each event disturbs what it observes.
_WAKE_EVENTS = 256


@dataclass(frozen=True, slots=True)
class Counts:
    """What the kernel counted: `sent` events of which `lost` found no room; `unread` strings
    whose page was away; GPU calls that returned `unmatched`, having been entered before us."""

    sent: int
    lost: int
    unread: int
    unmatched: int


class Loaded:
    """Compiled `programs`, for the `ways` of this kernel."""

    def __init__(self, programs: Iterable[Program], chosen: Ways | None = None, *,
                 pages: int = PAGES) -> None:  # fmt: skip
        """`pages` of 4 KiB, a power of two: the whole ring, or a sixteenth of it per CPU.
        Errors: `TraceError`."""
        self.programs = frozenset(programs)
        self.ways = chosen or ways()
        self._pages = pages
        self._bcc = bcc()
        os.environ["BCC_KERNEL_SOURCE"] = str(HEADERS)
        try:
            self._bpf: Any = self._bcc.BPF(
                text=text(self.programs, self.ways).encode(),
                cflags=[*flags(self.programs, self.ways, pages), "-Wno-unused"],
            )
        except Exception as error:  # BCC raises nothing narrower
            raise TraceError(f"BCC cannot compile our programs: {error}; see above") from error

    def function(self, name: str, use: Use = "uprobe") -> int:
        """The file descriptor of a program. Errors: `TraceError`."""
        kind = getattr(self._bcc.BPF, _KINDS[use])
        attach_type = UPROBES if use == "uprobe" and self.ways.links else -1
        try:
            return int(self._bpf.load_func(name.encode(), kind, None, attach_type).fd)
        except Exception as error:
            raise TraceError(f"the kernel refuses the program {name}: {error}") from error

    def follow(self, pid: int, files: Iterable[int]) -> None:
        """Events are wanted of this process on links to these files, by number, and on no others.
        No files: of none. Errors: `TraceError` when too many are followed."""
        table = self._bpf[b"followed"]
        key, wanted = table.Key(pid), table.Leaf()
        for file in files:
            wanted.wanted[file >> 6] |= 1 << (file & 63)
        if not any(wanted.wanted):
            table.pop(key, None)
            return
        try:
            table[key] = wanted
        except Exception as error:
            raise TraceError(f"process {pid} cannot be followed too: {error}") from error

    def listen(self, take: Callable[[bytes], bool]) -> None:
        """Give each event's bytes to `take` from now on, within `poll`. With a ring buffer a
        false answer ends this `poll`; a perf buffer's is bounded by its own size."""
        string_at = self._bcc.ct.string_at
        table = self._bpf[b"events"]

        def taken(_: Any, data: int, size: int) -> int:
            return 0 if take(string_at(data, size)) else -1

        if self.ways.ring_buffer:
            table.open_ring_buffer(taken)
        else:
            # Its callback tells of losses late or never; the kernel's counter is the truth.
            table.open_perf_buffer(
                taken,
                page_cnt=max(self._pages // 16, 1),
                lost_cb=_ignore,
                wakeup_events=_WAKE_EVENTS,
            )

    def poll(self, wait_ms: int) -> None:
        """Wait up to `wait_ms`, less when the buffer fills, then read what is there."""
        if self.ways.ring_buffer:
            self._bpf.ring_buffer_poll(wait_ms)
            self._bpf.ring_buffer_consume()
        else:
            self._bpf.perf_buffer_poll(wait_ms)
            self._bpf.perf_buffer_consume()

    def counts(self) -> Counts:
        """What was counted so far."""
        table = self._bpf[b"counters"]
        return Counts(*(int(table.sum(table.Key(i)).value) for i in range(4)))

    def close(self) -> None:
        """Take everything out of the kernel."""
        self._bpf.cleanup()


def _ignore(count: int) -> None:
    pass


def bcc() -> ModuleType:
    """BCC's module. Errors: `TraceError` with the package to install."""
    if _DEBIAN not in sys.path:
        sys.path.append(_DEBIAN)
    try:
        return import_module("bcc")
    except ImportError:
        raise TraceError("BCC is missing; run `apt-get install python3-bpfcc`") from None
