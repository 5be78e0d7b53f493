"""A program attached to a perf event: a uprobe, or the switches of a CPU.

The kernel detaches when the descriptor closes, so also when the agent is killed. There is no
name in tracefs, and the kernel itself raises a probe's semaphore in the process."""

import ctypes
import fcntl
import os
import platform
import struct
from pathlib import Path

from observability.bpf.errors import TraceError

_PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
_UPROBE = Path("/sys/bus/event_source/devices/uprobe/type")
_RETURN = 1
_SEMAPHORE_SHIFT = 32
_SOFTWARE, _CONTEXT_SWITCHES = 1, 3
_CLOSE_ON_EXEC = 8
_ENABLE = 0x2400
_SET_BPF = 0x40042408
# struct perf_event_attr, its fifth version: type, size, config, period, sample type, read
# format, flags, wake-up, breakpoint type, config1, config2, and 40 bytes that we leave 0.
_ATTR = struct.Struct("=IIQQQQQIIQQ40x")

_libc = ctypes.CDLL(None, use_errno=True)


def uprobe(program: int, pid: int, path: str, offset: int, *, at_return: bool = False,
           semaphore: int = 0) -> int:  # fmt: skip
    """Run `program` when process `pid` executes the byte `offset` of `path`. `semaphore` is the
    file offset of a counter that is raised meanwhile. Returns the descriptor.
    Errors: `TraceError`."""
    try:
        kind = int(_UPROBE.read_text())
    except OSError:
        raise TraceError("this kernel has no uprobes (CONFIG_UPROBE_EVENTS)") from None
    name = ctypes.create_string_buffer(os.fsencode(path))
    config = semaphore << _SEMAPHORE_SHIFT | (_RETURN if at_return else 0)
    at = ctypes.addressof(name)
    attr = _ATTR.pack(kind, _ATTR.size, config, 0, 0, 0, 0, 0, 0, at, offset)
    return _attached(program, attr, pid, -1, f"{path} at byte {offset:#x}")


def switches(program: int, cpu: int) -> int:
    """Run `program` whenever a thread leaves this CPU. Returns the descriptor.
    Errors: `TraceError`."""
    attr = _ATTR.pack(_SOFTWARE, _ATTR.size, _CONTEXT_SWITCHES, 1, 0, 0, 0, 0, 0, 0, 0)
    return _attached(program, attr, -1, cpu, f"the switches of CPU {cpu}")


def _attached(program: int, attr: bytes, pid: int, cpu: int, what: str) -> int:
    number = _PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        raise TraceError(f"no probes on {platform.machine()}: x86-64 and arm64 only")
    fd = _libc.syscall(number, attr, pid, cpu, -1, _CLOSE_ON_EXEC)
    if fd < 0:
        reason = os.strerror(ctypes.get_errno())
        raise TraceError(f"cannot attach to {what}: {reason}; `check` says what is missing")
    try:
        fcntl.ioctl(fd, _SET_BPF, program)
        fcntl.ioctl(fd, _ENABLE, 0)
    except OSError as error:
        os.close(fd)
        raise TraceError(f"cannot attach to {what}: {error.strerror}") from None
    return int(fd)
