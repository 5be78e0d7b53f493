"""A program attached by a link of the system call bpf(2), which BCC does not know.

As with every descriptor, the kernel detaches when it closes, so also when the agent is killed."""

import ctypes
import os
import platform
import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from observability.bpf.errors import TraceError

_BPF = {"x86_64": 321, "aarch64": 280}
_RAW_TRACEPOINT_OPEN, _LINK_CREATE = 17, 28
# What a program must have been loaded for.
UPROBES = 48
_RETURN = 1
# union bpf_attr for BPF_LINK_CREATE: program, target, kind, flags, then of uprobe_multi: path,
# offsets, semaphores, cookies, how many, flags, process (0: all).
_UPROBES = struct.Struct("=IIIIQQQQIII4x")
_RAW = struct.Struct("=QI4x")

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Place:
    """A byte of a file; `semaphore` is that of a counter that is raised meanwhile (0: none), and
    `cookie` what the program is told."""

    offset: int
    semaphore: int
    cookie: int


def uprobes(program: int, path: str, places: Sequence[Place], *, at_return: bool) -> int:
    """Run `program` when any process executes one of `places` of `path`. Returns the descriptor.
    Errors: `TraceError`."""
    name = ctypes.create_string_buffer(os.fsencode(path))
    offsets = array("Q", (place.offset for place in places))
    semaphores = array("Q", (place.semaphore for place in places))
    cookies = array("Q", (place.cookie for place in places))
    attr = _UPROBES.pack(
        program, 0, UPROBES, 0, ctypes.addressof(name), _address(offsets),
        _address(semaphores) if any(semaphores) else 0, _address(cookies), len(places),
        _RETURN if at_return else 0, 0,
    )  # fmt: skip
    return _bpf(_LINK_CREATE, attr, f"{path} at {len(places)} places")


def raw_tracepoint(program: int, name: str) -> int:
    """Run `program` at a tracepoint of the kernel; tracefs is not needed. Returns the
    descriptor. Errors: `TraceError`."""
    text = ctypes.create_string_buffer(name.encode())
    return _bpf(_RAW_TRACEPOINT_OPEN, _RAW.pack(ctypes.addressof(text), program), name)


def _address(numbers: "array[int]") -> int:
    return numbers.buffer_info()[0]


def _bpf(command: int, attr: bytes, what: str) -> int:
    number = _BPF.get(platform.machine())
    if number is None:
        raise TraceError(f"no probes on {platform.machine()}: x86-64 and arm64 only")
    fd = _libc.syscall(number, command, attr, len(attr))
    if fd < 0:
        reason = os.strerror(ctypes.get_errno())
        raise TraceError(f"cannot attach to {what}: {reason}; `check` says what is missing")
    return int(fd)
